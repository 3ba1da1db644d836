package config_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

const service = `[DEFAULT]
id = 5cd4a2b4-0cd6-4d4b-a4b3-65e8a7c5a0d7
nodes = n1 n2
orchestrate = ha
topology = failover

[fs#1]
type = directory
path = {env.base}/data

[app#1]
type = simple
start = /usr/bin/python3 -m http.server {env.port}
start@n2 = /usr/bin/python3 -m http.server 8081
cwd = {fs#1.path}
restart = 1

[env]
base = /srv/{nodename}
port = 8080
`

func BenchmarkParse(b *testing.B) {
	data := []byte(service)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := config.Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValue(b *testing.B) {
	ev := config.Evaluator{
		Doc: parse(b, service), Scope: config.Scope{Node: "n1", Nodes: []string{"n1", "n2"}},
		Lookup: func(_, name string) (string, bool, error) { return "n1", name == "nodename", nil },
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ev.Value("app#1", config.Option{Name: "cwd", Scopable: true}); err != nil {
			b.Fatal(err)
		}
	}
}
