package daemon

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestOneLiveNodeOfAnObjectSealsItAnew(t *testing.T) {
	t.Parallel()
	p, elsewhere := object.Path{Namespace: "ns1", Kind: object.KindSec, Name: "a"}, object.Path{Namespace: "ns1", Kind: object.KindSec, Name: "b"}
	v := &cluster.View{
		Peers: map[string]cluster.Peer{"n1": {Beating: true}, "n2": {Beating: true}, "n3": {Beating: true}},
		Objects: map[object.Path]*cluster.Object{
			p:         {Instances: map[string]cluster.Instance{"n1": {}, "n2": {}, "n3": {}}},
			elsewhere: {Instances: map[string]cluster.Instance{"n2": {}, "n3": {}}},
		},
	}
	for _, c := range []struct {
		path object.Path
		lost string
		does string
	}{{p, "", "n1"}, {p, "n1", "n2"}, {elsewhere, "", "n2"}} {
		v.Peers[c.lost] = cluster.Peer{}
		for _, self := range []string{"n2", "n3"} {
			if got := isFirst(v, self, c.path); got != (self == c.does) {
				t.Errorf("%s without %q: %s does: %v", c.path, c.lost, self, got)
			}
		}
		v.Peers["n1"] = cluster.Peer{Beating: true}
	}
}
