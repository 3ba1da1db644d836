package simulate_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/simulate"
)

func TestABadScenarioIsRefusedWithItsLineItsWordAndAWayOut(t *testing.T) {
	t.Parallel()
	const cluster = "title\n-- cluster.conf --\n[cluster]\nnodes = n1 n2\n"
	const web = cluster + "-- web.conf --\n[DEFAULT]\norchestrate = ha\n[app#1]\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":              {"", "no cluster.conf: add one"},
		"no script":            {cluster, "no script: add a part"},
		"no nodes":             {"-- cluster.conf --\n[cluster]\nname = x\n-- script --\n", "no nodes: add nodes = n1 n2 n3"},
		"an unknown part":      {web + "-- notes --\n-- script --\n", `line 9: part "notes": use script`},
		"a part twice":         {web + "-- script --\n-- script --\n", `line 10: a second part "script": the first is at line 9`},
		"a bad ini line":       {cluster + "-- web.conf --\n[DEFAULT\n-- script --\n", "line 6: web.conf: "},
		"an unknown keyword":   {cluster + "-- web.conf --\n[DEFAULT]\norchestrte = ha\n-- script --\n", "line 7: web: orchestrte: no such keyword"},
		"a bad value":          {cluster + "-- web.conf --\n[DEFAULT]\n\norchestrate = maybe\n-- script --\n", `line 8: web: orchestrate: value "maybe"`},
		"a bad resource":       {cluster + "-- web.conf --\n[app#1]\nrestart = x\n-- script --\n", "line 7: web: [app#1]: app#1.restart"},
		"a node of none":       {cluster + "-- web.conf --\n[DEFAULT]\nnodes = n1 n7\n-- script --\n", "line 7: web: "},
		"nodes of themselves":  {cluster + "-- web.conf --\n[DEFAULT]\nnodes = {nodes}\n-- script --\n", "references in a circle: nodes -> nodes"},
		"a bad object name":    {cluster + "-- a b.conf --\n-- script --\n", "name the file after its object"},
		"an unknown command":   {web + "-- script --\nwait 1s\nexplode n1\n", `line 11: "explode": no such command: use cold`},
		"an unknown node":      {web + "-- script --\ncrash n9\n", `line 10: "n9" is no node: the nodes are n1 n2: the usage is`},
		"an unknown object":    {web + "-- script --\nstart db\n", `line 10: "db" is no object: the objects are web`},
		"a bad duration":       {web + "-- script --\nwait 5\n", `line 10: "5" is no duration: write 500ms, 30s or 2m`},
		"time that goes back":  {web + "-- script --\nwait -5s\n", `line 10: "-5s" is no duration: write 500ms, 30s or 2m`},
		"a word missing":       {web + "-- script --\nwait\n", "line 10: a duration is missing: the usage is `wait 30s`"},
		"a word too many":      {web + "-- script --\nwait 5s now\n", `line 10: "now" is one word too many`},
		"an unknown state":     {web + "-- script --\nexpect web upp\n", `line 10: "upp" is no state`},
		"an unknown action":    {web + "-- script --\nfail web strt\n", `line 10: "strt" is no action`},
		"an unknown heartbeat": {web + "-- script --\ncut n1 n2 hb#3\n", `line 10: "hb#3" is no heartbeat`},
		"an unknown vote":      {web + "-- script --\narbitrator a seen by n1\n", `line 10: "a" is no arbitrator`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := simulate.ParseScenario([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestEveryCommandIsSaid(t *testing.T) {
	t.Parallel()
	for _, h := range simulate.Help() {
		if h[0] == "" || h[1] == "" || strings.HasSuffix(h[1], ".") {
			t.Errorf("%q: %q", h[0], h[1])
		}
	}
}

func FuzzParseScenario(f *testing.F) {
	f.Add([]byte("-- cluster.conf --\n[cluster]\nnodes = n1 n2\n-- web.conf --\n[DEFAULT]\norchestrate = ha\n[app#1]\n-- script --\ncrash n1\nwait 1s\nexpect web up\n"))
	f.Add([]byte("-- cluster.conf --\n[cluster]\nnodes = n1\n-- script --\npartition |\nset x y=z\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := simulate.ParseScenario(data)
		if err != nil {
			return
		}
		again, err := simulate.ParseScenario(s.Format(s.Transcript))
		if err != nil || again.Transcript != s.Transcript || again.Title != s.Title {
			t.Fatalf("formatting changes it: %v\n%s\n%s", err, data, s.Format(s.Transcript))
		}
	})
}
