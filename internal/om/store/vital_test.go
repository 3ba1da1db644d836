package store_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

func TestAClusterThatCannotLiveIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change config.Change
		want   []string
	}{
		"no secret":        {unset(t, "cluster.secret"), []string{"cluster.secret", "cannot do without"}},
		"no id":            {unset(t, "cluster.id"), []string{"cluster.id", "cannot do without"}},
		"no name":          {unset(t, "cluster.name"), []string{"cluster.name", "cannot do without"}},
		"no node":          {unset(t, "cluster.nodes"), []string{"cluster.nodes", "cannot do without"}},
		"no section":       {config.Change{Delete: []string{"cluster"}}, []string{"cluster.id", "cluster.name", "cluster.nodes", "cluster.secret"}},
		"empty secret":     {set(t, "cluster.secret="), []string{"cluster.secret", "empty"}},
		"empty nodes":      {set(t, "cluster.nodes="), []string{"cluster.nodes", "empty"}},
		"blank name":       {set(t, "cluster.name= "), []string{"cluster.name", "empty"}},
		"this node is out": {set(t, "cluster.nodes=n2 n3"), []string{"cluster.nodes", "leaves out n1"}},
		"no such port":     {set(t, "listener.port=65536"), []string{"listener.port", "65535"}},
		"port zero":        {set(t, "listener.port=0"), []string{"listener.port"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			before := s.read(t, "cluster.conf")

			_, err := s.Update(t.Context(), object.Cluster(), c.change)

			fails(t, err, append(c.want, "cluster: the configuration is refused")...)
			if s.read(t, "cluster.conf") != before {
				t.Error("it was written")
			}
		})
	}
}

func TestTheNodeCannotHideWhatTheClusterLivesBy(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, err := s.Update(t.Context(), object.Path{}, set(t, "cluster.secret=", "cluster.nodes=n2"))
	fails(t, err, "cluster.secret", "empty", "cluster.nodes", "leaves out n1")
}

func TestReplacingTheClusterKeepsWhatItLivesBy(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, err := s.Replace(t.Context(), object.Cluster(), []byte("[cluster]\nname = c1\nnodes = n1\n"))
	fails(t, err, "cluster.id", "cluster.secret")
	if _, err := s.Replace(t.Context(), object.Cluster(), []byte("[cluster]\nid = c1id\nname = c2\nnodes = n1 n4\nsecret = other\n")); err != nil {
		t.Error(err)
	}
}

func TestKeysInClearAreRefusedWhereTheyAreSealed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sec", "usr"} {
		s := open(t)
		p := path(t, "ns1/"+kind+"/pw")
		_, err := s.Create(t.Context(), p, parse(t, "[data]\npassword = literal:hunter2\nother = crypt:1:xx\n"), store.CreateOptions{})
		fails(t, err, "data.password", "not sealed")
		if s.Exists(p) {
			t.Error("it was written")
		}
		if _, err := s.Create(t.Context(), p, parse(t, "[data]\nother = crypt:1:xx\n"), store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err = s.Update(t.Context(), p, set(t, "data.password=hunter2"))
		fails(t, err, "data.password", "not sealed")
	}
	s := open(t)
	if _, err := s.Create(t.Context(), path(t, "ns1/cfg/c"), parse(t, "[data]\ntext = literal:x\n"), store.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func unset(tb testing.TB, names ...string) config.Change {
	tb.Helper()
	var c config.Change
	for _, name := range names {
		key, err := config.ParseKey(name)
		if err != nil {
			tb.Fatal(err)
		}
		c.Unset = append(c.Unset, key)
	}
	return c
}

func TestWhatTheAgentLivesByIsProtected(t *testing.T) {
	t.Parallel()
	for name, protected := range map[string]bool{
		"system/sec/ca": true, "system/sec/cert": true, "system/sec/token": true, "cluster": true,
		"system/sec/other": false, "sec/ca": false, "system/usr/ca": false, "web": false,
	} {
		err := store.Protected(path(t, name))
		if (err != nil) != protected {
			t.Errorf("%s: %v", name, err)
		}
		if protected {
			fails(t, err, name, "belongs to the agent")
		}
	}
	fails(t, store.Protected(object.Path{}), "node")
}
