package setup_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// site is a node that starts for the first time.
type site struct {
	setup.Options
	root string
	log  *bytes.Buffer
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{root: t.TempDir(), log: &bytes.Buffer{}}
	st := store.New(host.Host{Paths: host.Paths{Root: s.root}, Hostname: "node1"}, func(object.Kind) []keyword.Section { return nil })
	s.Options = setup.Options{
		Node: "node1", Store: st, Data: datastore.New(st), Now: time.Now(),
		Log:       slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Addresses: []net.IP{net.IPv4(192, 0, 2, 7)},
	}
	return s
}

func (s *site) run(t *testing.T) setup.Identity {
	t.Helper()
	identity, err := setup.Run(t.Context(), s.Options)
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func (s *site) get(t *testing.T, p object.Path, key string) string {
	t.Helper()
	f, err := s.Store.Load(p)
	if err != nil {
		t.Fatal(err)
	}
	k, err := config.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := f.Doc.Get(k)
	return v
}

// files are the contents of the configuration directory.
func (s *site) files(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join(s.root, "etc"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

//nolint:paralleltest // the parts look at one site, the last one starts it again
func TestTheFirstStartMakesACluster(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	began := time.Now()
	identity := s.run(t)

	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s", took) // a second on an idle machine
	}
	for key, pattern := range map[string]string{
		"cluster.id":     `^[0-9a-f-]{36}$`,
		"cluster.name":   `^[a-z]+-[a-z]+$`,
		"cluster.secret": `^[0-9a-f]{32}$`,
		"cluster.nodes":  `^node1$`,
		"hb#1.type":      `^unicast$`,
		"id":             `^[0-9a-f-]{36}$`,
	} {
		if got := s.get(t, object.Cluster(), key); !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("%s is %q", key, got)
		}
	}
	if got := s.get(t, object.Path{}, "node.prkey"); !regexp.MustCompile(`^0x[0-9a-f]{16}$`).MatchString(got) {
		t.Errorf("node.prkey is %q", got)
	}
	if identity.ClusterID != s.get(t, object.Cluster(), "cluster.id") {
		t.Errorf("the identity is that of cluster %q", identity.ClusterID)
	}

	t.Run("whose certificate names the node and is signed by its authority", func(t *testing.T) {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(identity.Authority) {
			t.Fatal("the authority is no certificate")
		}
		for _, name := range []string{"node1", "localhost", "127.0.0.1", "::1", "192.0.2.7"} {
			if _, err := identity.Certificate.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if identity.Certificate.Leaf.IsCA {
			t.Error("the listener could sign certificates")
		}
	})
	t.Run("whose keys are fast, and one for each use", func(t *testing.T) {
		key, ok := identity.Certificate.PrivateKey.(*ecdsa.PrivateKey)
		if !ok || key.Curve != elliptic.P256() {
			t.Errorf("the listener has a %T", identity.Certificate.PrivateKey)
		}
		if ok && key.Equal(identity.TokenKey) {
			t.Error("tokens are signed with the key of the listener")
		}
	})
	t.Run("whose files only their owner reads", func(t *testing.T) {
		for name := range s.files(t) {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %o", name, info.Mode().Perm())
			}
		}
	})
	t.Run("without a secret in the log", func(t *testing.T) {
		for _, secret := range []string{s.get(t, object.Cluster(), "cluster.secret"), s.get(t, object.Path{}, "node.prkey"), "PRIVATE KEY"} {
			if strings.Contains(s.log.String(), secret) {
				t.Errorf("%s is in the log", secret)
			}
		}
	})
	t.Run("that the second start leaves as it is", func(t *testing.T) {
		before := s.files(t)
		s.run(t)
		if diff := cmp.Diff(before, s.files(t)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnInterruptedFirstStartIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	for done := range len(setup.Steps(newSite(t).Options)) + 1 {
		s := newSite(t)
		for _, step := range setup.Steps(s.Options)[:done] {
			if err := step.Do(t.Context()); err != nil {
				t.Fatalf("%s: %v", step.Name, err)
			}
		}
		before := map[string]string{}
		if done > 0 {
			before = s.files(t)
		}

		s.run(t)

		after := s.files(t)
		for name, content := range before {
			// The object of a sec is completed with its keys; nothing else changes.
			if !strings.HasPrefix(after[name], strings.TrimRight(content, "\n")) {
				t.Errorf("after %d steps: %s was\n%s\nand is\n%s", done, filepath.Base(name), content, after[name])
			}
		}
	}
}

func TestValuesGivenByTheAdministratorAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := s.Store.Modify(t.Context(), object.Cluster(), func(doc *config.Document) error {
		return errors.Join(
			doc.Set(config.Key{Section: "cluster", Option: "name"}, "mine"),
			doc.Set(config.Key{Section: "hb#7", Option: "type"}, "multicast"))
	})
	if err != nil {
		t.Fatal(err)
	}

	s.run(t)

	if got := s.get(t, object.Cluster(), "cluster.name"); got != "mine" {
		t.Errorf("the name became %q", got)
	}
	if got := s.get(t, object.Cluster(), "hb#1.type"); got != "" {
		t.Errorf("a heartbeat was added: %q", got)
	}
	if got := s.get(t, object.Cluster(), "cluster.secret"); got == "" {
		t.Error("the secret is missing")
	}
}

func TestWhatCannotBeReadIsNotReplaced(t *testing.T) {
	t.Parallel()
	damage := map[string]func(t *testing.T, s *site){
		"a cluster configuration that is no configuration": func(t *testing.T, s *site) {
			t.Helper()
			write(t, s.Store.FileName(object.Cluster()), "[cluster\nname")
		},
		"a node configuration that is no configuration": func(t *testing.T, s *site) {
			t.Helper()
			write(t, s.Store.FileName(object.Path{}), "[node\n")
		},
		"another cluster secret, written by hand": func(t *testing.T, s *site) {
			t.Helper()
			name := s.Store.FileName(object.Cluster())
			lines := strings.Split(s.files(t)[name], "\n")
			for i, line := range lines {
				if strings.HasPrefix(line, "secret =") {
					lines[i] = "secret = " + strings.Repeat("0", 32)
				}
			}
			write(t, name, strings.Join(lines, "\n"))
		},
		"an authority without its key": func(t *testing.T, s *site) {
			t.Helper()
			if err := s.Data.Remove(t.Context(), setup.Authority(), "private_key"); err != nil {
				t.Fatal(err)
			}
		},
		"an authority with the key of another": func(t *testing.T, s *site) {
			t.Helper()
			copyKey(t, s, setup.TokenKey(), setup.Authority())
		},
		"a certificate with the key of another": func(t *testing.T, s *site) {
			t.Helper()
			copyKey(t, s, setup.TokenKey(), setup.Certificate())
		},
		"a token key that is no key": func(t *testing.T, s *site) {
			t.Helper()
			if err := s.Data.Set(t.Context(), setup.TokenKey(), "private_key", []byte("hello")); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, do := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.run(t)
			do(t, s)
			before := s.files(t)

			if _, err := setup.Run(t.Context(), s.Options); err == nil {
				t.Error("setup ends well")
			} else {
				t.Log(err)
			}
			if diff := cmp.Diff(before, s.files(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func copyKey(t *testing.T, s *site, from, to object.Path) {
	t.Helper()
	key, err := s.Data.Decode(from, "private_key")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Data.Set(t.Context(), to, "private_key", key); err != nil {
		t.Fatal(err)
	}
}

func TestAClusterWhoseSecretsRemainIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(file string) error{
		"removed": os.Remove,
		"empty":   func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"without its secret": func(file string) error {
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, regexp.MustCompile(`(?m)^secret.*\n`).ReplaceAll(data, nil), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.run(t)
			file := s.Store.FileName(object.Cluster())
			if err := spoil(file); err != nil {
				t.Fatal(err)
			}
			before := s.files(t)

			_, err := setup.Run(t.Context(), s.Options)

			lost, ok := errors.AsType[*setup.LostClusterError](err)
			if !ok || lost.File != file || len(lost.Sealed) != 3 {
				t.Fatalf("got %v, want the three objects that are sealed", err)
			}
			if !strings.Contains(err.Error(), "cluster.secret") || !strings.Contains(err.Error(), "restore cluster.conf from a backup") {
				t.Errorf("%v: does not say what to do", err)
			}
			if diff := cmp.Diff(before, s.files(t)); diff != "" {
				t.Errorf("something was written\n%s", diff)
			}
		})
	}
}
