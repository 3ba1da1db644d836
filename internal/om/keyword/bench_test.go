package keyword_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

// BenchmarkDecode reads a service of 20 lines: the parse, then the decode of
// each of its sections.
func BenchmarkDecode(b *testing.B) {
	data := []byte(`[DEFAULT]
id = 5cd4a2b4-0cd6-4d4b-a4b3-65e8a7c5a0d7
nodes = n1 n2
orchestrate = ha
topology = failover

[fs#1]
string = directory
list = a b

[app#1]
string = {env.base}/x
string@n2 = {env.base}/y
shlex = /usr/bin/python3 -m http.server {env.port}
duration = 1m
size = 10m

[env]
base = /srv/{nodename}
port = 8080
`)
	b.ReportAllocs()
	for b.Loop() {
		d, err := config.Parse(data)
		if err != nil {
			b.Fatal(err)
		}
		ev := &config.Evaluator{
			Doc: d, Scope: config.Scope{Node: "n1", Nodes: []string{"n1", "n2"}},
			Lookup: func(_, name string) (string, bool, error) { return "n1", name == "nodename", nil },
		}
		for _, section := range d.Sections() {
			var s settings
			var t keyword.Table
			s.Keywords(&t)
			if err := keyword.Decode(ev, section, &t, keyword.Context{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
