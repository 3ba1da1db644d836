package datastore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret/password"
)

func checks(t *testing.T, s site, plain string) bool {
	t.Helper()
	ok, err := s.CheckPassword(path(object.KindUsr), []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestAPasswordIsCheckedAndNeverGivenBack(t *testing.T) {
	t.Parallel()
	s := open(t)
	usr := path(object.KindUsr)
	if err := s.Add(t.Context(), usr, "password", []byte("hunter2")); err != nil {
		t.Fatal(err)
	}

	if !checks(t, s, "hunter2") || checks(t, s, "hunter3") || checks(t, s, "") {
		t.Error("a password is not told from another")
	}
	value, err := s.Decode(usr, "password")
	if _, ok := errors.AsType[*datastore.PasswordError](err); !ok || value != nil {
		t.Errorf("decoded %q, %v", value, err)
	}
	err = s.Rename(t.Context(), usr, "password", "p")
	if _, ok := errors.AsType[*datastore.PasswordError](err); !ok {
		t.Errorf("renamed: %v", err)
	}
	if strings.Contains(s.file(t, usr), "hunter2") || !strings.HasPrefix(s.raw(t, usr, "password"), "crypt:1:") {
		t.Errorf("the file holds %s", s.raw(t, usr, "password"))
	}
}

func TestOnlyThePasswordOfAUserIsHashed(t *testing.T) {
	t.Parallel()
	s := open(t)
	for p, key := range map[object.Path]string{path(object.KindSec): "password", path(object.KindCfg): "password", path(object.KindUsr): "passwords"} {
		if err := s.Set(t.Context(), p, key, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Decode(p, key); string(got) != "x" || err != nil {
			t.Errorf("%s: %q, %v", p, got, err)
		}
	}
}

func TestAKeyRenamedToPasswordIsHashed(t *testing.T) {
	t.Parallel()
	s := open(t)
	usr := path(object.KindUsr)
	if err := errors.Join(s.Set(t.Context(), usr, "p", []byte("hunter2")), s.Rename(t.Context(), usr, "p", "password")); err != nil {
		t.Fatal(err)
	}

	if !checks(t, s, "hunter2") {
		t.Error("the password does not match")
	}
	if _, err := s.Decode(usr, "password"); err == nil {
		t.Error("it is given back")
	}
}

func TestTheSamePasswordAgainIsNotWritten(t *testing.T) {
	t.Parallel()
	s := open(t)
	usr := path(object.KindUsr)
	if err := s.Set(t.Context(), usr, "password", []byte("hunter2")); err != nil {
		t.Fatal(err)
	}
	before := s.file(t, usr)

	if err := s.Set(t.Context(), usr, "password", []byte("hunter2\n")); err != nil {
		t.Fatal(err)
	}
	if s.file(t, usr) != before {
		t.Error("it was written")
	}
	if err := s.Change(t.Context(), usr, "password", []byte("hunter3")); err != nil {
		t.Fatal(err)
	}
	if !checks(t, s, "hunter3") || checks(t, s, "hunter2") {
		t.Error("it was not changed")
	}
}

func TestNoPasswordMatchesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	usr := path(object.KindUsr)

	_, err := s.CheckPassword(usr, nil)
	if _, ok := errors.AsType[*datastore.KeyNotFoundError](err); !ok {
		t.Errorf("got %v", err)
	}
	if err := s.Add(t.Context(), usr, "password", []byte("\n")); !errors.Is(err, password.ErrEmpty) {
		t.Errorf("got %v", err)
	}
}

func TestSharedKeysMayBeUsed(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, c := range []struct {
		kind       object.Kind
		share, own string
		may        bool
	}{
		{object.KindSec, "", "ns1", true},
		{object.KindSec, "", "prod", false},
		{object.KindSec, "share = prod staging\n", "prod", true},
		{object.KindSec, "share = prod staging\n", "staging", true},
		{object.KindSec, "share = prod staging\n", "production", false},
		{object.KindSec, "share = prod staging\n", "ns1", true},
		{object.KindCfg, "share = *\n", "root", true},
		{object.KindUsr, "", "ns1", true},
		{object.KindUsr, "", "prod", false},
	} {
		s.write(t, path(c.kind), "[DEFAULT]\nid = x\n"+c.share)

		if may, err := s.MayDecode(path(c.kind), c.own); may != c.may || err != nil {
			t.Errorf("%s %q for %s: %v, %v", c.kind, c.share, c.own, may, err)
		}
	}
}

func TestAListNeedsNoSecret(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, p := range stores() {
		if err := s.SetAll(t.Context(), p, map[string][]byte{"a": []byte("hello"), "b": {0xff}, "empty": {}}); err != nil {
			t.Fatal(err)
		}
	}
	s.write(t, object.Cluster(), "[cluster]\nname = c1\n")
	for _, p := range stores() {
		got, err := s.List(p)
		want := []datastore.Info{{"a", 5}, {"b", 1}, {"empty", 0}}
		if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || err != nil {
			t.Errorf("%s: got %v, %v", p, got, err)
		}
	}
}

func TestPatternsDesignateWhatIsDecoded(t *testing.T) {
	t.Parallel()
	s := open(t)
	usr := path(object.KindUsr)
	if err := s.SetAll(t.Context(), usr, map[string][]byte{"a1": []byte("1"), "a2": []byte("2"), "b": []byte("3"), "password": []byte("x")}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		patterns []string
		want     string
	}{
		{nil, "a1=1 a2=2 b=3"}, {[]string{"a*"}, "a1=1 a2=2"}, {[]string{"b", "a2", "b"}, "a2=2 b=3"}, {[]string{"z*"}, ""}, {[]string{"*"}, "a1=1 a2=2 b=3"},
	} {
		values, err := s.DecodeAll(usr, c.patterns)
		var got []string
		for _, v := range values {
			got = append(got, v.Name+"="+string(v.Value))
		}
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%q: got %q, %v", c.patterns, got, err)
		}
	}
	for _, refused := range []string{"password", "gone", "[a"} {
		if values, err := s.DecodeAll(usr, []string{"a1", refused}); err == nil {
			t.Errorf("%s: got %v", refused, values)
		}
	}
}
