package install_test

import (
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource/install"
)

func parse(tb testing.TB, text string) []install.Item {
	tb.Helper()
	words, err := config.ParseShlex(text)
	if err != nil {
		tb.Fatal(err)
	}
	items, err := install.Parse(words, "ns1")
	if err != nil {
		tb.Fatal(err)
	}
	return items
}

func TestAnItemIsAPlaceAndItsOptions(t *testing.T) {
	t.Parallel()
	got := parse(t, `
	  /haproxy/haproxy.cfg from ./cfg/web key haproxy.cfg signal HUP:container#1
	  /certs/ from prod/sec/web key *.pem mode 4640 user 99 group ssl required signal sigusr1:app#1,app#2 signal 12:app#3
	  /run/web
	  /acme/ user 99
	  '/my conf' from ./cfg/web key 'my conf' template source https://example.com/x
	`)
	cfg := object.Path{Namespace: "ns1", Kind: object.KindCfg, Name: "web"}
	want := []install.Item{
		{To: "/haproxy/haproxy.cfg", From: cfg, Key: "haproxy.cfg", Signals: []install.Signal{{Number: syscall.SIGHUP, RIDs: []string{"container#1"}}}},
		{
			To: "/certs", Dir: true, From: object.Path{Namespace: "prod", Kind: object.KindSec, Name: "web"}, Key: "*.pem",
			Mode: new(fs.ModeSetuid | 0o640), User: "99", Group: "ssl", Required: true,
			Signals: []install.Signal{
				{Number: syscall.SIGUSR1, RIDs: []string{"app#1", "app#2"}}, {Number: 12, RIDs: []string{"app#3"}},
			},
		},
		{To: "/run/web", Dir: true},
		{To: "/acme", Dir: true, User: "99"},
		{To: "/my conf", From: cfg, Key: "my conf", Template: true, Source: "https://example.com/x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestItemsFollowOneAnotherOnOneLineToo(t *testing.T) {
	t.Parallel()
	// what += makes of two items
	got := parse(t, "/a from ./cfg/x key k signal HUP:app#1 /b from ./cfg/x key l")
	if len(got) != 2 || got[0].To != "/a" || got[1].To != "/b" {
		t.Errorf("got %+v", got)
	}
}

func TestTheDigitsOfAModeAreTheBitsOfAFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]fs.FileMode{
		"0600": 0o600, "644": 0o644, "4755": fs.ModeSetuid | 0o755, "2750": fs.ModeSetgid | 0o750, "1777": fs.ModeSticky | 0o777,
		"7000": fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky,
	} {
		if got := parse(t, "/a from ./cfg/x key k mode "+text)[0].Mode; *got != want {
			t.Errorf("%s: got %v, want %v", text, *got, want)
		}
	}
}

func TestWhatIsNoItemIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"etc/a from ./cfg/x key k":                       `"etc/a" is no place`,
		"/a form ./cfg/x key k":                          `unknown option "form"`,
		"/a from ./cfg/x":                                "needs a key",
		"/a key k":                                       "of which object",
		"/a from ./cfg/x key":                            "key has no value",
		"/a from ./svc/x key k":                          "ns1/svc/x is a svc, which holds no key",
		"/a from ./cfg/x key k mode 64":                  "not a file mode",
		"/a from ./cfg/x key k mode 0999":                "not a file mode",
		"/a from ./cfg/x key k mode 0600 mode 0644":      "mode is given twice",
		"/a from ./cfg/x key k signal HUP":               "write <signal>:<resource>",
		"/a from ./cfg/x key k signal NOPE:app#1":        `signal "NOPE" does not exist`,
		"/a from ./cfg/x key k signal 65:app#1":          "signal 65 does not exist",
		"/a from ./cfg/x key k signal HUP:app":           `"app" is no resource`,
		"/a/../../b from ./cfg/x key k":                  "holds no ..",
		"/.. ":                                           "holds no ..",
		"'/a\nb'":                                        "holds no control character",
		"/a template":                                    "without from it is a directory",
		"/a from ./cfg/x key [a":                         "bracket is not closed",
		"/a from ./cfg/x key * source /tmp/x":            "is for one key",
		"/a from ./cfg/x key k source relative/file":     "absolute name",
		"/a from ./cfg/x key k source ftp://host/x":      "http or https",
		"/a from ./cfg/x key k source http:///x":         "no host",
		"/a from ./cfg/x key k source 'file://host/x y'": "",
	} {
		words, err := config.ParseShlex(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = install.Parse(words, "ns1")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestTheFormerKeywords(t *testing.T) {
	t.Parallel()
	s := install.Settings{
		Configs: []string{"app/app.conf:etc/app.conf", "app/*:/etc/all/"}, Secrets: []string{"web/key:tls.key"},
		Directories: []string{"log", "/run/cache/"}, Signal: "hup:app#1,app#2",
	}
	got, err := s.Items("ns1")
	if err != nil {
		t.Fatal(err)
	}
	hup := []install.Signal{{Number: syscall.SIGHUP, RIDs: []string{"app#1", "app#2"}}}
	cfg := object.Path{Namespace: "ns1", Kind: object.KindCfg, Name: "app"}
	want := []install.Item{
		{To: "/log", Dir: true},
		{To: "/run/cache", Dir: true},
		{To: "/etc/app.conf", From: cfg, Key: "app.conf", Signals: hup},
		{To: "/etc/all", Dir: true, From: cfg, Key: "*", Signals: hup},
		{To: "/tls.key", From: object.Path{Namespace: "ns1", Kind: object.KindSec, Name: "web"}, Key: "key", Signals: hup},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []install.Settings{
		{Configs: []string{"app.conf:etc"}},
		{Configs: []string{"app/k"}},
		{Configs: []string{"a/k:b:mode=1"}},
		{Secrets: []string{"A/k:b"}},
		{Directories: []string{"../x"}},
		{Configs: []string{"a/k:../x"}},
		{Signal: "hup"},
	} {
		if items, err := bad.Items("ns1"); err == nil {
			t.Errorf("%+v gives %+v", bad, items)
		}
	}
}

func TestAnItemReadsAsItIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z0-9._' "\\-]{1,8}`)
		item := install.Item{To: "/" + rapid.StringMatching(`[a-z]{1,4}(/[a-z' ]{1,4}){0,2}`).Draw(t, "to"), Dir: true}
		item.User = rapid.SampledFrom([]string{"", "root", "99"}).Draw(t, "user")
		if rapid.Bool().Draw(t, "keys") {
			item.From = object.Path{Namespace: "ns1", Kind: rapid.SampledFrom([]object.Kind{object.KindCfg, object.KindSec}).Draw(t, "kind"), Name: "x"}
			item.Key = word.Draw(t, "key")
			item.Dir = rapid.Bool().Draw(t, "dir")
			item.Template, item.Required = rapid.Bool().Draw(t, "template"), rapid.Bool().Draw(t, "required")
			if rapid.Bool().Draw(t, "signal") {
				item.Signals = []install.Signal{{Number: syscall.Signal(rapid.IntRange(1, 64).Draw(t, "signal")), RIDs: []string{"app#1", "fs#x"}}}
			}
		}
		if rapid.Bool().Draw(t, "mode") {
			item.Mode = new(fs.FileMode(rapid.IntRange(0, 0o777).Draw(t, "mode")) | rapid.SampledFrom([]fs.FileMode{0, fs.ModeSetuid, fs.ModeSticky | fs.ModeSetgid}).Draw(t, "bits"))
		}
		words, err := config.ParseShlex(item.String() + " " + item.String())
		if err != nil {
			t.Fatal(err)
		}
		got, err := install.Parse(words, "elsewhere")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]install.Item{item, item}, got); diff != "" {
			t.Fatal(item.String(), diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("/a from ./cfg/x key k mode 0640 user u group g signal HUP:app#1 template source /x required")
	f.Add("/certs/ from a/sec/b key * /x")
	f.Fuzz(func(t *testing.T, text string) {
		words, err := config.ParseShlex(text)
		if err != nil {
			return
		}
		items, err := install.Parse(words, "ns1")
		if err != nil {
			return
		}
		for _, i := range items {
			if !strings.HasPrefix(i.To, "/") || slices.Contains(strings.Split(i.To, "/"), "..") {
				t.Errorf("%q leads to %q", text, i.To)
			}
			again, err := config.ParseShlex(i.String())
			if err != nil {
				t.Fatal(err)
			}
			same, err := install.Parse(again, "ns1")
			if err != nil || !cmp.Equal([]install.Item{i}, same) {
				t.Errorf("%q reads as %+v, %v: %s", i.String(), same, err, cmp.Diff([]install.Item{i}, same))
			}
		}
	})
}
