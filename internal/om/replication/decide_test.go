package replication_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/replication"
)

func TestWhatANodeDoes(t *testing.T) {
	t.Parallel()
	made := replication.Version{}.Edited("n1", sum(1), 100)
	changed := made.Edited("n2", sum(2), 200)
	other := made.Edited("n3", sum(3), 300)
	gone := changed.Removed("n1", true, 400)
	again := gone.Edited("n1", sum(4), 500)
	all, pair := []string{"n1", "n2", "n3"}, []string{"n2", "n3"}
	told := func(v replication.Version, scope []string) replication.Told {
		return replication.Told{Version: v, Scope: scope}
	}
	has := func(v replication.Version, scope []string) replication.Own {
		return replication.Own{Node: "n1", Version: v, Has: v.Fate == replication.Alive && !v.IsZero(), Scope: scope}
	}
	lost := func(v replication.Version) replication.Own {
		return replication.Own{Node: "n1", Version: v}
	}
	for name, c := range map[string]struct {
		own    replication.Own
		peers  map[string]replication.Told
		silent []string
		want   replication.Verdict
		from   []string
		lost   bool
	}{
		"nothing is known":                            {own: has(replication.Version{}, nil), want: replication.Keep},
		"it is for this node":                         {own: has(replication.Version{}, nil), peers: map[string]replication.Told{"n2": told(changed, all), "n3": told(changed, all)}, want: replication.Fetch, from: pair},
		"it is for others":                            {own: has(replication.Version{}, nil), peers: map[string]replication.Told{"n2": told(changed, pair)}, want: replication.Keep},
		"it was deleted before it was here":           {own: has(replication.Version{}, nil), peers: map[string]replication.Told{"n2": told(gone, nil)}, want: replication.Note},
		"a peer has an older one":                     {own: has(changed, all), peers: map[string]replication.Told{"n2": told(made, all)}, want: replication.Keep},
		"a peer has a newer one":                      {own: has(made, all), peers: map[string]replication.Told{"n2": told(changed, all), "n3": told(made, all)}, want: replication.Fetch, from: []string{"n2"}},
		"a peer did not see the one here and wins":    {own: has(changed, all), peers: map[string]replication.Told{"n3": told(other, all)}, want: replication.Fetch, from: []string{"n3"}, lost: true},
		"a peer did not see the one here and loses":   {own: has(other, all), peers: map[string]replication.Told{"n2": told(changed, all)}, want: replication.Keep},
		"it was deleted elsewhere":                    {own: has(changed, all), peers: map[string]replication.Told{"n2": told(gone, nil)}, want: replication.Delete},
		"an edit that the deletion did not see":       {own: has(other, all), peers: map[string]replication.Told{"n2": told(gone, nil)}, want: replication.Delete, lost: true},
		"it was made again":                           {own: has(gone, nil), peers: map[string]replication.Told{"n2": told(again, all)}, want: replication.Fetch, from: []string{"n2"}},
		"it was made again, for others":               {own: has(gone, nil), peers: map[string]replication.Told{"n2": told(again, pair)}, want: replication.Forget},
		"a deletion that a peer does not know of":     {own: has(gone, nil), peers: map[string]replication.Told{"n2": told(made, all)}, want: replication.Keep},
		"a deletion that everybody knows of":          {own: has(gone, nil), peers: map[string]replication.Told{"n2": told(gone, nil)}, want: replication.Forget},
		"a deletion that somebody may not know of":    {own: has(gone, nil), peers: map[string]replication.Told{"n2": told(gone, nil)}, silent: []string{"n3"}, want: replication.Keep},
		"others have not fetched it":                  {own: has(changed, pair), peers: map[string]replication.Told{"n2": told(changed, pair), "n3": told(made, all)}, want: replication.Keep},
		"others have it":                              {own: has(changed, pair), peers: map[string]replication.Told{"n2": told(changed, pair), "n3": told(changed, pair)}, want: replication.Leave},
		"others have a newer one":                     {own: has(made, all), peers: map[string]replication.Told{"n2": told(changed, pair), "n3": told(changed, pair)}, want: replication.Leave},
		"it is for nobody":                            {own: has(changed, nil), want: replication.Keep},
		"it was removed by hand":                      {own: lost(changed), peers: map[string]replication.Told{"n2": told(changed, all)}, want: replication.Fetch, from: []string{"n2"}},
		"it was removed by hand before others had it": {own: lost(changed), peers: map[string]replication.Told{"n2": told(made, all)}, want: replication.Fetch, from: []string{"n2"}},
		"it was removed by hand, and is newer":        {own: lost(made), peers: map[string]replication.Told{"n2": told(changed, all)}, want: replication.Fetch, from: []string{"n2"}},
		"it was removed by hand, who has it?":         {own: lost(changed), silent: []string{"n2"}, want: replication.Missing},
		"it was removed by hand, nobody has it":       {own: lost(changed), want: replication.Bury},
		"it was removed by hand, and deleted":         {own: lost(changed), peers: map[string]replication.Told{"n2": told(gone, nil)}, want: replication.Note},
		"it was removed by hand, and is for others":   {own: lost(made), peers: map[string]replication.Told{"n2": told(changed, pair)}, want: replication.Forget},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := replication.Decide(replication.World{Own: c.own, Peers: c.peers, Silent: c.silent, Nodes: all})
			if d.Verdict != c.want || !slices.Equal(d.From, c.from) && c.want == replication.Fetch || d.Lost != c.lost {
				t.Errorf("%v from %v, lost %v", d.Verdict, d.From, d.Lost)
			}
		})
	}
}

func TestTheConfigurationOfTheClusterIsNeverRemoved(t *testing.T) {
	t.Parallel()
	made := replication.Version{}.Edited("n1", sum(1), 100)
	for _, own := range []replication.Own{
		{Node: "n1", Version: made}, {Node: "n1", Version: made, Has: true, Scope: []string{"n2"}},
	} {
		d := replication.Decide(replication.World{Own: own, Everywhere: true, Peers: map[string]replication.Told{
			"n2": {Version: made.Removed("n2", true, 200)},
		}})
		if d.Verdict != replication.Keep && d.Verdict != replication.Missing {
			t.Errorf("%+v: %v", own, d.Verdict)
		}
	}
}

func TestAVersionReadsBack(t *testing.T) {
	t.Parallel()
	want := replication.Told{Version: replication.Version{}.Edited("n1", sum(1), 100).Edited("n2", sum(2), 50), Scope: []string{"n1", "n2"}}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := replication.ParseTold(data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestAVectorIsBounded(t *testing.T) {
	t.Parallel()
	v := replication.Version{}
	for i := range 1000 {
		v = v.Edited("n"+sum(i), sum(i), uint64(i))
	}
	if len(v.Vector) > 256 || v.Vector["n"+sum(999)] == 0 {
		t.Errorf("%d writers", len(v.Vector))
	}
}

func FuzzAPeerMaySayAnything(f *testing.F) {
	f.Add([]byte(`{"v":{"n1":1},"b":1,"t":1,"w":"n1","c":"` + sum(1) + `","s":["n1"]}`))
	f.Add([]byte(`{"v":{"n1":18446744073709551615},"b":1,"t":18446744073709551615,"w":"n1","f":2}`))
	f.Add([]byte(`{"v":{"":1},"w":"` + strings.Repeat("x", 300) + `"}`))
	own := replication.Version{}.Edited("n1", sum(1), 100)
	f.Fuzz(func(t *testing.T, data []byte) {
		told, err := replication.ParseTold(data)
		if err != nil {
			return
		}
		for _, w := range []replication.Own{{Node: "n1"}, {Node: "n1", Version: own, Has: true, Scope: []string{"n1"}}, {Node: "n1", Version: own}} {
			d := replication.Decide(replication.World{Own: w, Peers: map[string]replication.Told{"n2": told}})
			if next := d.Version.Edited("n1", sum(2), 0); !d.Version.IsZero() && !replication.Less(d.Version, next) {
				t.Errorf("%+v is followed by %+v", d.Version, next)
			}
		}
	})
}
