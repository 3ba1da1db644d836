package store_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

func TestEnvironmentsAreThoseOfTheCluster(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "old.conf", "[DEFAULT]\nid = x\nenv = GONE\n")

	_, err := s.Create(t.Context(), path(t, "web"), nil, store.CreateOptions{Change: set(t, "env=NOSUCH")})
	fails(t, err, `env: "NOSUCH" is none of the environments of the cluster: use one of CERT, DEV, `)
	_, err = s.Update(t.Context(), object.Path{}, set(t, "node.env=NOSUCH"))
	fails(t, err, `node.env: "NOSUCH" is none of`)
	if _, err := s.Update(t.Context(), path(t, "old"), set(t, "env.a=1")); err != nil {
		t.Errorf("an environment of old keeps from editing: %v", err)
	}
	_, err = s.Update(t.Context(), path(t, "old"), set(t, "env=GONE2"))
	fails(t, err, "GONE2")
	if _, err := s.Update(t.Context(), object.Cluster(), set(t, "cluster.envs=NOSUCH", "node.env=NOSUCH")); err != nil {
		t.Errorf("an environment added by the same commit: %v", err)
	}
	if _, err := s.Create(t.Context(), path(t, "web"), nil, store.CreateOptions{Change: set(t, "env=NOSUCH")}); err != nil {
		t.Error(err)
	}
}
