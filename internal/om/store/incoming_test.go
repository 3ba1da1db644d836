package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

func backups(t *testing.T, s site, prefix string) (texts []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.paths.Var(), "backup", prefix+"_*.bck"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	return texts
}

func TestWhatComesFromAPeerIsInstalledAsItIs(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := object.Path{Namespace: "ns1", Kind: object.KindSvc, Name: "web"}
	at := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
	first := "# by hand\n[DEFAULT]\nid=0e745444-6724-48f9-8167-e865b4f9ec94\n\n[env]\na = 1\n"

	done, err := s.Install(t.Context(), p, store.Incoming{Data: []byte(first), ModTime: at})
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Text(p)
	if err != nil || string(text.Data) != first || !text.ModTime.Equal(at) {
		t.Errorf("%v: %q of %s", err, text.Data, text.ModTime)
	}
	info, err := os.Stat(s.FileName(p))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v: %v", err, info.Mode())
	}

	// Over another one than the caller means, nothing is done.
	second := strings.Replace(first, "a = 1", "a = 2", 1)
	_, err = s.Install(t.Context(), p, store.Incoming{Data: []byte(second), ModTime: at, Over: "other"})
	if changed := (*store.ChangedError)(nil); !errors.As(err, &changed) {
		t.Errorf("got %v", err)
	}
	_, err = s.Install(t.Context(), p, store.Incoming{Data: []byte(second), ModTime: at})
	if changed := (*store.ChangedError)(nil); !errors.As(err, &changed) {
		t.Errorf("got %v", err)
	}
	if got := backups(t, s, "ns1.svc.web"); len(got) != 0 {
		t.Errorf("archived %q", got)
	}

	// What its writer had not seen is archived, once.
	for range 2 {
		done, err = s.Install(t.Context(), p, store.Incoming{Data: []byte(second), ModTime: at, Over: done.Checksum, Archive: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Install(t.Context(), p, store.Incoming{Data: []byte(first), ModTime: at, Over: done.Checksum})
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Load(p)
		if err != nil {
			t.Fatal(err)
		}
		done.Checksum = f.Checksum
	}
	if got := backups(t, s, "ns1.svc.web"); !slices.Equal(got, []string{first}) {
		t.Errorf("archived %q", got)
	}
}

func TestWhatComesFromAPeerMustBeValidHere(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, c := range map[string]struct{ path, text string }{
		"an ini file":            {"ns1/svc/web", "nothing"},
		"keywords that exist":    {"ns1/svc/web", "[DEFAULT]\nnosuch = 1\n"},
		"keys that are sealed":   {"ns1/sec/web", "[data]\na = clear\n"},
		"this node of a cluster": {"cluster", "[cluster]\nnodes = n2 n3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := object.Parse(c.path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Install(t.Context(), p, store.Incoming{Data: []byte(c.text), ModTime: time.Now(), Before: func(*config.Document) error {
				t.Error("it was accepted")
				return nil
			}}); err == nil {
				t.Error("installed")
			}
			if p != object.Cluster() && s.Exists(p) {
				t.Error("something was written")
			}
		})
	}
}

func TestAWithdrawalArchives(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "web"}
	made, err := s.Create(t.Context(), p, nil, store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Text(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Withdraw(t.Context(), p, "other"); err == nil || !s.Exists(p) {
		t.Errorf("another one is withdrawn: %v", err)
	}

	file, err := s.Withdraw(t.Context(), p, made.Checksum)

	if err != nil || s.Exists(p) || !strings.HasPrefix(filepath.Base(file), "root.svc.web_") {
		t.Errorf("%v: %s", err, file)
	}
	if got := backups(t, s, "root.svc.web"); !slices.Equal(got, []string{string(text.Data)}) {
		t.Errorf("archived %q", got)
	}
	if d, err := s.Deletion(p); d != nil || err != nil {
		t.Errorf("it is said to be deleted everywhere: %v %v", d, err)
	}
	if _, err := s.Withdraw(t.Context(), object.Cluster(), ""); err == nil {
		t.Error("the configuration of the cluster is withdrawn")
	}
}

func TestADeletionEverywhereIsSaid(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := object.Path{Namespace: "ns1", Kind: object.KindCfg, Name: "web"}
	made, err := s.Create(t.Context(), p, nil, store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	if err := s.DeleteEverywhere(t.Context(), p); err != nil {
		t.Fatal(err)
	}

	d, err := s.Deletion(p)
	if err != nil || d == nil || d.Checksum != made.Checksum || !d.ModTime.Equal(made.ModTime) || d.At.IsZero() {
		t.Errorf("%v %+v", err, d)
	}
	if all, err := s.Deletions(); err != nil || !slices.Equal(all, []object.Path{p}) {
		t.Errorf("%v %v", all, err)
	}
	if err := errors.Join(s.DeletionNoted(p), s.DeletionNoted(p)); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Deletion(p); d != nil || err != nil {
		t.Errorf("%v %v", d, err)
	}
}

// Two sides of a partition gave the cluster another secret: what either sealed opens.
func TestAnArchivedClusterConfigurationLeavesItsSecret(t *testing.T) {
	t.Parallel()
	s := open(t)
	if _, err := s.Update(t.Context(), object.Cluster(), set(t, "cluster.secret=ours")); err != nil {
		t.Fatal(err)
	}
	f, err := s.Load(object.Cluster())
	if err != nil {
		t.Fatal(err)
	}
	theirs := f.Doc.Clone()
	if err := theirs.Set(config.Key{Section: "cluster", Option: "secret"}, "theirs"); err != nil {
		t.Fatal(err)
	}

	_, err = s.Install(t.Context(), object.Cluster(), store.Incoming{Data: theirs.Bytes(), ModTime: time.Now(), Over: f.Checksum, Archive: true})

	known, kerr := s.ClusterSecrets()
	if err != nil || kerr != nil || known.Current.Reveal() != "theirs" || !slices.ContainsFunc(known.Former, func(x secret.String) bool { return x.Reveal() == "ours" }) {
		t.Errorf("%v %v: %v", err, kerr, known.Former)
	}
}
