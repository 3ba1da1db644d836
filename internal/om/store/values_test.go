package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

const scopedValues = "[DEFAULT]\nid = " + oneID + "\n\n[env]\nbar = 1\nbar@n1 = 2\nbar@n2 = 3\nonly@n2 = {nodename}\n"

func rows(values []store.Value) [][3]string {
	out := make([][3]string, len(values))
	for i, v := range values {
		out[i] = [3]string{v.Key.String(), v.Written, v.Evaluated}
	}
	return out
}

func TestEvaluatedKeywordsHaveNoScope(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", scopedValues)

	here, err := s.Values(path(t, "web"), nil, true, "")
	if err != nil {
		t.Fatal(err)
	}
	there, err := s.Values(path(t, "web"), []string{"env.bar", "env.only"}, true, "n2")
	if err != nil {
		t.Fatal(err)
	}
	written, err := s.Values(path(t, "web"), []string{"env.bar@n2"}, false, "")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([][3]string{{"id", oneID, oneID}, {"env.bar", "2", "2"}, {"env.only", "", ""}}, rows(here)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][3]string{{"env.bar", "3", "3"}, {"env.only", "{nodename}", "n2"}}, rows(there)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][3]string{{"env.bar@n2", "3", ""}}, rows(written)); diff != "" {
		t.Error(diff)
	}
	_, err = s.Values(path(t, "web"), []string{"env.bar@n2"}, true, "")
	fails(t, err, "env.bar@n2: an evaluation chooses the scope: ask env.bar, and say as which node with --impersonate")
}

func TestAKeywordThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", scopedValues)

	for _, evaluate := range []bool{false, true} {
		_, err := s.Values(path(t, "web"), []string{"env.nosuch", "env.bar", "nosuch"}, evaluate, "")
		fails(t, err, "env.nosuch is not set")
		fails(t, err, "nosuch: unknown keyword")
		if _, err := s.Values(path(t, "web"), []string{"orchestrate"}, evaluate, ""); err != nil {
			t.Error(err)
		}
	}
}

func TestTheNodesOfAnObjectThatSaysNoneAreThisOne(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[DEFAULT]\nid = x\n", "[DEFAULT]\nid = x\nnodes =\n"} {
		s := open(t)
		s.write(t, "web.conf", text)

		got, err := s.Values(path(t, "web"), []string{"nodes"}, true, "")

		if err != nil || got[0].Evaluated != "n1" {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestTheNodeAndClusterConfigurationsAreNeverMissing(t *testing.T) {
	t.Parallel()
	s := empty(t)
	for _, p := range []object.Path{{}, object.Cluster()} {
		f, errLoad := s.Load(p)
		text, errText := s.Text(p)
		values, errValues := s.Values(p, nil, false, "")

		if errLoad != nil || errText != nil || errValues != nil {
			t.Fatal(errLoad, errText, errValues)
		}
		if len(f.Doc.Bytes())+len(text.Data)+len(values) > 0 {
			t.Errorf("%q, %q, %v", f.Doc.Bytes(), text.Data, values)
		}
	}
	if err := f(s.Load(path(t, "web"))); err == nil {
		t.Error("an object is made up")
	}
	if err := f(s.Text(path(t, "web"))); err == nil {
		t.Error("the text of an object is made up")
	}
}

func f[V any](_ V, err error) error { return err }

func TestABrokenConfigurationIsReadAsItIs(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT\nx\n")

	text, err := s.Text(path(t, "web"))

	if err != nil || string(text.Data) != "[DEFAULT\nx\n" || text.ModTime.IsZero() {
		t.Errorf("%+v, %v", text, err)
	}
}

func TestWithoutClusterItsNameIsNotReferredTo(t *testing.T) {
	t.Parallel()
	s := empty(t)
	for _, reference := range []string{"{fqdn}", "{domain}", "{clustername}", "{clusterid}"} {
		_, err := s.Create(t.Context(), path(t, "web"), nil, store.CreateOptions{Change: set(t, "env.a="+reference)})
		fails(t, err, "env.a: reference "+reference+": the cluster has no identity yet: start the daemon once, it makes one, or choose its name with om cluster config update --set cluster.name=<name>")
	}
	if _, err := s.Update(t.Context(), object.Cluster(), set(t, "cluster.name=c1")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), path(t, "web"), nil, store.CreateOptions{Change: set(t, "env.a={fqdn}")}); err != nil {
		t.Fatal(err)
	}
	values, err := s.Values(path(t, "web"), []string{"env.a"}, true, "")
	if err != nil || values[0].Evaluated != "web.root.svc.c1" {
		t.Errorf("%+v, %v", values, err)
	}
}

func TestAWarningIsToldOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	if _, err := s.Create(t.Context(), path(t, "web"), nil, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	told := func(change config.Change) int {
		t.Helper()
		done, err := s.Update(t.Context(), path(t, "web"), change)
		if err != nil {
			t.Fatal(err)
		}
		return len(done.Warnings)
	}

	if n := told(set(t, "env.a@gone=1")); n != 1 {
		t.Errorf("%d warnings on what is wrong", n)
	}
	if n := told(set(t, "env.b=1")); n != 0 {
		t.Errorf("%d warnings on what an update left alone", n)
	}
	if n := told(set(t, "env.a@gone=2")); n != 1 {
		t.Errorf("%d warnings on what is touched again", n)
	}
	if n := len(s.Validate(path(t, "web"), parse(t, s.read(t, "web.conf")))); n != 1 {
		t.Errorf("%d warnings on the whole", n)
	}
}
