package instance_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// The daemon evaluates every instance: this is what each costs it.
func BenchmarkStatus(b *testing.B) {
	f := newBench(b)
	const objects = 100
	paths := make([]object.Path, objects)
	for i := range paths {
		paths[i] = object.Path{Namespace: "root", Kind: object.KindSvc, Name: fmt.Sprintf("svc%d", i)}
		f.write(paths[i], "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\n\n[app#1]\ntype = simple\nstart = /bin/sleep 300\n")
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := f.Status(b.Context(), paths[i%objects], instance.StatusOptions{Refresh: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConfig(b *testing.B) {
	f := newBench(b)
	f.write(web, "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\n\n[app#1]\ntype = simple\nstart = /bin/sleep 300\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Config(web); err != nil {
			b.Fatal(err)
		}
	}
}
