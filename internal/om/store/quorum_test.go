package store_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

func TestALayoutOfTheQuorumThatCannotDecideIsWarnedAbout(t *testing.T) {
	t.Parallel()
	const arbitrator, exclusive = "[arbitrator#a]\nuri = n9\n", "[arbitrator#a]\nuri = https://n9:1215\nexclusive = true\n"
	for name, c := range map[string]struct{ text, want string }{
		"two nodes and a server both halves reach": {"[cluster]\nquorum = true\nnodes = n1 n2\n" + arbitrator, "both parts reach the arbitrators"},
		"two nodes and no arbitrator":              {"[cluster]\nquorum = true\nnodes = n1 n2\n", "no arbitrator"},
		"two nodes and a vote that one half gets":  {"[cluster]\nquorum = true\nnodes = n1 n2\n" + exclusive, ""},
		"three nodes": {"[cluster]\nquorum = true\nnodes = n1 n2 n3\n", ""},
		"three nodes and two votes that all can get": {"[cluster]\nquorum = true\nnodes = n1 n2 n3\n" + arbitrator + "weight = 2\n", "both parts reach the arbitrators"},
		"no quorum": {"[cluster]\nnodes = n1 n2\n" + arbitrator, ""},
		"an arbitrator that says nothing of its place": {"[cluster]\nquorum = true\nnodes = n1 n2\n[arbitrator#a]\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := config.Parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, a := range empty(t).Validate(object.Cluster(), doc) {
				if a.Kind == store.AlertQuorum {
					got = a.Comment
				}
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
