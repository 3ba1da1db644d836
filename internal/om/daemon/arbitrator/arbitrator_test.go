package arbitrator_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/arbitrator"
	"github.com/holdfast-ops/holdfast/internal/om/orchestrate"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

func prober() *arbitrator.Prober {
	return &arbitrator.Prober{Password: func(string) (secret.String, error) { return secret.New("pass"), nil }}
}

func TestAPlainArbitratorVotesWhenItAnswersWithSuccess(t *testing.T) {
	t.Parallel()
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	for name, c := range map[string]struct {
		code int
		want string
	}{
		"a success":      {http.StatusOK, ""},
		"nothing to say": {http.StatusNoContent, ""},
		"not there":      {http.StatusNotFound, "404"},
		"broken":         {http.StatusInternalServerError, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewTLSServer(status(c.code))
			defer s.Close()

			_, err := prober().Vote(t.Context(), cluster.Arbitrator{URI: s.URL + "/vote", Insecure: true}, arbitrator.Question{})

			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestACertificateNobodyVouchesForIsNoVoteUnlessItIsSaidToBe(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()

	_, err := prober().Vote(t.Context(), cluster.Arbitrator{URI: s.URL}, arbitrator.Question{})

	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v, want an error about the certificate", err)
	}
}

func TestATCPArbitratorVotesByTakingTheConnection(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	answer, err := prober().Vote(t.Context(), cluster.Arbitrator{URI: at}, arbitrator.Question{})
	if err != nil || !answer.Vote {
		t.Errorf("%+v, %v", answer, err)
	}

	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	if _, err := prober().Vote(t.Context(), cluster.Arbitrator{URI: at}, arbitrator.Question{}); err == nil {
		t.Error("a port that is closed votes")
	}
}

// daemon is an arbitrator as [httpd] serves it.
func daemon(t *testing.T, votes *arbitrator.Votes) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if password != "pass" || r.URL.Path != api.PostArbitratorVote.Path {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var c api.VoteClaim
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		now := time.Now()
		var answer api.VoteGrant
		if c.Release {
			votes.Release(user, c.ClusterID, c.Node, now)
			answer.Verdict = "released"
		} else {
			g, _ := votes.Claim(user, c.ClusterID, orchestrate.Claim{Node: c.Node, Members: c.Members}, now)
			answer = api.VoteGrant{Verdict: string(g.Verdict), Holders: g.Holders, Lease: orchestrate.VoteLease.Milliseconds()}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAnExclusiveArbitratorVotesForTheFirstPartThatAsks(t *testing.T) {
	t.Parallel()
	s := daemon(t, arbitrator.NewVotes())
	ask := func(user, id, node string, release bool) (orchestrate.Answer, error) {
		a := cluster.Arbitrator{URI: strings.TrimPrefix(s.URL, "https://"), Insecure: true, Exclusive: true, Username: user}
		return prober().Vote(t.Context(), a, arbitrator.Question{
			ClusterID: id, Claim: orchestrate.Claim{Node: node, Members: []string{node}}, Release: release,
		})
	}
	for _, c := range []struct {
		user, id, node string
		release        bool
		want           orchestrate.Answer
		err            string
	}{
		{"relay", "c1", "n1", false, orchestrate.Answer{Vote: true}, ""},
		{"relay", "c1", "n2", false, orchestrate.Answer{Refused: true}, "gave its vote to n1"},
		{"relay", "c2", "n2", false, orchestrate.Answer{Vote: true}, ""},
		{"other", "c1", "n2", false, orchestrate.Answer{Vote: true}, ""},
		{"relay", "c1", "n1", false, orchestrate.Answer{Vote: true}, ""},
		{"relay", "c1", "n2", true, orchestrate.Answer{}, ""},
		{"relay", "c1", "n2", false, orchestrate.Answer{Refused: true}, "gave its vote to n1"},
		{"relay", "c1", "n1", true, orchestrate.Answer{}, ""},
		{"relay", "c1", "n2", false, orchestrate.Answer{Vote: true}, ""},
	} {
		got, err := ask(c.user, c.id, c.node, c.release)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%+v: %v", c, err)
		}
		if got.Vote != got.Until.After(time.Now()) {
			t.Errorf("%+v: the lease ends at %s", c, got.Until)
		}
		if got.Until = (time.Time{}); got != c.want {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
}

// A password is verified slowly, on purpose: that is done while all is well.
func TestAVoteIsAskedForWithATokenOnceThereIsOne(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	believed := true
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		how, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		asked = append(asked, how+" "+r.Method+" "+r.URL.Path)
		switch {
		case r.Header.Get("Authorization") == "Bearer ticket" && !believed:
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == api.PostAuthToken.Path:
			_ = json.NewEncoder(w).Encode(api.AuthToken{AccessToken: "ticket"})
		case r.Method == http.MethodGet:
			_ = json.NewEncoder(w).Encode(api.VoteHolders{})
		default:
			_ = json.NewEncoder(w).Encode(api.VoteGrant{Verdict: "granted", Lease: 20000})
		}
	}))
	defer s.Close()
	p, a := prober(), cluster.Arbitrator{URI: s.URL, Insecure: true, Exclusive: true, Username: "relay"}
	for range 2 {
		if err := p.Check(t.Context(), a, arbitrator.Question{}); err != nil {
			t.Fatal(err)
		}
	}
	vote := func() {
		t.Helper()
		if answer, err := p.Vote(t.Context(), a, arbitrator.Question{}); err != nil || !answer.Vote {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	vote()
	mu.Lock()
	believed = false
	mu.Unlock()
	vote()

	want := []string{
		"Basic POST /api/auth/token", "Bearer GET /api/arbitrator/vote", "Bearer GET /api/arbitrator/vote", "Bearer POST /api/arbitrator/vote",
		"Bearer POST /api/arbitrator/vote", "Basic POST /api/arbitrator/vote",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestAWrongPasswordIsNoVote(t *testing.T) {
	t.Parallel()
	s := daemon(t, arbitrator.NewVotes())
	p := &arbitrator.Prober{Password: func(string) (secret.String, error) { return secret.New("guess"), nil }}

	answer, err := p.Vote(t.Context(), cluster.Arbitrator{URI: s.URL, Insecure: true, Exclusive: true, Username: "relay"}, arbitrator.Question{ClusterID: "c1"})

	if err == nil || answer != (orchestrate.Answer{}) || strings.Contains(err.Error(), "guess") {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestAnArbitratorVotesForSoManyClustersOnly(t *testing.T) {
	t.Parallel()
	votes, now := arbitrator.NewVotes(), time.Unix(1000, 0)
	claim := func(cluster int, at time.Time) error {
		_, err := votes.Claim("relay", strconv.Itoa(cluster), orchestrate.Claim{Node: "n1"}, at)
		return err
	}
	for i := range 1000 {
		if err := claim(i, now); err != nil {
			t.Fatalf("cluster %d: %v", i, err)
		}
	}

	if err := claim(1001, now); err == nil {
		t.Error("one more was accepted")
	}
	if err := claim(1001, now.Add(orchestrate.VoteLease)); err != nil {
		t.Errorf("after the others ran out: %v", err)
	}
}
