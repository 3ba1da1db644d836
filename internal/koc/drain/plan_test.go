package drain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/koc/drain"
)

func verbs() []drain.Verb { return []drain.Verb{drain.Live, drain.Cold, drain.Evacuate} }

func statuses() []string {
	return []string{
		"ACTIVE", "PAUSED", "SHUTOFF", "ERROR", "SUSPENDED", "RESCUE", "VERIFY_RESIZE", "SHELVED", "SHELVED_OFFLOADED", "SOFT_DELETED",
		"BUILD", "REBOOT", "MIGRATING", "RESIZE", "PASSWORD", "UNKNOWN",
	}
}

func anyServers(t *rapid.T) []drain.Server {
	n := rapid.IntRange(0, 12).Draw(t, "servers")
	all := make([]drain.Server, n)
	for i := range all {
		all[i] = drain.Server{
			ID: fmt.Sprintf("id-%d", i), Name: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "name"), Host: "cmp1",
			Status: rapid.SampledFrom(statuses()).Draw(t, "status"), Task: rapid.SampledFrom([]string{"", "", "", "migrating"}).Draw(t, "task"),
			RAM: rapid.Int64Range(1, 4).Draw(t, "ram"),
		}
	}
	return all
}

// TestPlansMoveWhatNovaLets makes plans of any servers. Mutants it catches: a
// server lost or planned twice, one moved that Nova refuses or kept that it takes,
// a busy one moved, a limit that is off by one or counts what is skipped, large
// servers before small ones, a reason that names a verb which cannot.
func TestPlansMoveWhatNovaLets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		servers := anyServers(t)
		before := slices.Clone(servers)
		verb := rapid.SampledFrom(verbs()).Draw(t, "verb")
		limit := rapid.IntRange(0, 5).Draw(t, "limit")
		steps := drain.Plan(servers, verb, limit)

		if !slices.Equal(before, servers) {
			t.Fatal("the servers themselves were sorted")
		}
		seen := map[string]bool{}
		moved, able := 0, 0
		for i, s := range steps {
			if seen[s.Server.ID] {
				t.Fatalf("%s twice", s.Server.ID)
			}
			seen[s.Server.ID] = true
			if i > 0 && steps[i-1].Server.RAM > s.Server.RAM {
				t.Fatalf("%v before %v", steps[i-1].Server, s.Server)
			}
			takes := verb.Takes(s.Server.Status) && s.Server.Task == ""
			if takes {
				able++
			}
			if s.Moves() {
				moved++
			}
			if (s.Skip == "") != takes {
				t.Fatalf("%s takes %v: %q", verb, s.Server, s.Skip)
			}
			if s.Later && (limit == 0 || moved < limit) {
				t.Fatalf("%v is left after %d of %d", s.Server, moved, limit)
			}
			for _, other := range verbs() {
				if strings.Contains(s.Skip, "'"+other.String()+"'") && (other == verb || !other.Takes(s.Server.Status)) {
					t.Fatalf("%s: %v: %q", verb, s.Server, s.Skip)
				}
			}
			if s.Skip != "" && s.Server.Task == "" && !strings.Contains(s.Skip, s.Server.Status) {
				t.Fatalf("%q does not tell the status %s", s.Skip, s.Server.Status)
			}
		}
		want := able
		if limit > 0 {
			want = min(able, limit)
		}
		if len(steps) != len(servers) || moved != want {
			t.Fatalf("%d of %d servers, %d moved, want %d", len(steps), len(servers), moved, want)
		}
	})
}

// TestStatuses is the table of the guide.
func TestStatuses(t *testing.T) {
	t.Parallel()
	want := map[drain.Verb]string{drain.Live: "ACTIVE PAUSED", drain.Cold: "ACTIVE SHUTOFF", drain.Evacuate: "ACTIVE SHUTOFF ERROR"}
	for verb, takes := range want {
		var got []string
		for _, s := range statuses() {
			if verb.Takes(s) {
				got = append(got, s)
			}
		}
		if strings.Join(got, " ") != takes {
			t.Errorf("%s takes %v, want %s", verb, got, takes)
		}
	}
	if drain.Verb(9).Takes("ACTIVE") {
		t.Error("no verb takes a server")
	}
}

func TestWhatIsSkippedNamesTheVerbThatCan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb   drain.Verb
		status string
		want   string
	}{
		{drain.Live, "SHUTOFF", "'compute host drain --cold' can move a server in SHUTOFF"},
		{drain.Cold, "PAUSED", "'compute host drain' can move a server in PAUSED"},
		{drain.Live, "ERROR", "'compute host evacuate' can move a server in ERROR, once the host is down"},
		{drain.Evacuate, "PAUSED", "'compute host drain' can move a server in PAUSED, once the host is up"},
		{drain.Live, "VERIFY_RESIZE", "no verb can move a server in VERIFY_RESIZE: 'server resize confirm' or 'server resize revert' it first"},
		{drain.Live, "SUSPENDED", "no verb can move a server in SUSPENDED: 'server resume' it first"},
		{drain.Cold, "RESCUE", "no verb can move a server in RESCUE: 'server unrescue' it first"},
		{drain.Cold, "SHELVED", "no verb can move a server in SHELVED: 'server unshelve' it first"},
		{drain.Cold, "SOFT_DELETED", "no verb can move a server in SOFT_DELETED: 'server restore' it first"},
		{drain.Evacuate, "BUILD", "no verb can move a server in BUILD: let nova finish with it first"},
	} {
		got := drain.Plan([]drain.Server{{ID: "1", Status: c.status}}, c.verb, 0)[0].Skip
		if got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.verb, c.status, got, c.want)
		}
	}
}
