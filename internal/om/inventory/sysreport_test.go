package inventory_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/inventory"
)

func changed(r inventory.Sysreport) []string {
	names := []string{}
	for _, f := range r.Changed {
		names = append(names, f.Path)
	}
	return names
}

func TestSysreport(t *testing.T) {
	t.Parallel()
	show := "-- $ /bin/show -a 'b c' --\n"
	n := machine(t, nil, show+"first\n"+show+"first\n"+show+"second\n"+show+"second\n")
	etc, dir := n.Host.Paths.Etc(), t.TempDir()
	write(t, filepath.Join(etc, "cluster.conf"), "[cluster]\nname = c1\nsecret = 0123456789abcdef\n", 0o600)
	list := filepath.Join(etc, "sysreport.conf.d/system")
	write(t, list, "# comment\nFILE "+dir+"/a\nDIR "+dir+"/d\nGLOB "+dir+"/g*\nEXC "+dir+"/d/skip*\nFILE "+dir+"/nosuch\nCMD /bin/show -a 'b c'\nNOPE x\n", 0o600)
	for _, name := range []string{"a", "d/one", "d/skipped", "d/sub/two", "g1", "other"} {
		write(t, filepath.Join(dir, name), name, 0o644)
	}
	report := func(force bool) inventory.Sysreport {
		t.Helper()
		r, err := n.Report(t.Context(), force)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	r := report(false)
	all := []string{etc + "/cluster.conf", list, dir + "/a", dir + "/d/one", dir + "/d/sub/two", dir + "/g1", "CMD /bin/show -a 'b c'"}
	slices.Sort(all)
	if diff := cmp.Diff(all, changed(r)); diff != "" || !r.Full {
		t.Error("the first report:", diff, r.Full)
	}
	if len(r.Errors) != 1 || !strings.Contains(r.Errors[0], `"NOPE" is none of`) {
		t.Errorf("errors %q", r.Errors)
	}
	data, err := json.Marshal(r)
	if err != nil || strings.Contains(string(data), "0123456789abcdef") {
		t.Error("the secret of the cluster is in the report", err)
	}
	kept, err := os.ReadFile(filepath.Join(n.Host.Paths.Var(), "node/sysreport.json"))
	if err != nil || strings.Contains(string(kept), "0123456789abcdef") {
		t.Error("the secret of the cluster is kept", err)
	}

	if r = report(false); len(r.Changed)+len(r.Deleted) > 0 || r.Full {
		t.Errorf("nothing changed, and the report says %v %v", changed(r), r.Deleted)
	}

	write(t, filepath.Join(dir, "d/one"), "changed", 0o644)
	if err := os.Chmod(filepath.Join(dir, "g1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	r = report(false)
	if diff := cmp.Diff([]string{dir + "/d/one", dir + "/g1", "CMD /bin/show -a 'b c'"}, sorted(changed(r))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{dir + "/a"}, r.Deleted); diff != "" {
		t.Error(diff)
	}

	if r = report(true); len(r.Changed) != len(all)-1 || !r.Full {
		t.Errorf("a forced report has %v", changed(r))
	}
}

func sorted(list []string) []string { slices.Sort(list); return list }

func TestAListThatOthersMayWriteIsIgnored(t *testing.T) {
	t.Parallel()
	n := machine(t, nil, "")
	dir := filepath.Join(n.Host.Paths.Etc(), "sysreport.conf.d")
	write(t, filepath.Join(dir, "open"), "CMD /bin/evil\n", 0o644)
	if err := os.Chmod(filepath.Join(dir, "open"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "open"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	r, err := n.Report(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) != 2 || !strings.Contains(strings.Join(r.Errors, "\n"), "others may write it") {
		t.Errorf("errors %q", r.Errors)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	got := inventory.Mask(`[cluster]
name = c1
secret = aaaa
secret = bbbb
secret@n1 = cccc
# secret = dddd
;old_password=eeee
[node]
uuid = ffff
prkey = 0x1
env = PRD
[env]
DB_PASSWORD = gggg
[switch#1]
password = from system/sec/switch key password
[data]
k = crypt:1:hhhh
l = literal:shown
[app#1]
secrets_environment = P=web/key
api_token = iiii
` + "multi = `\nx\n`\nmy_secret = `\njjjj\nkkkk\n`\n")
	for _, secret := range []string{"aaaa", "bbbb", "cccc", "dddd", "eeee", "ffff", "0x1", "gggg", "hhhh", "iiii", "jjjj", "kkkk"} {
		if strings.Contains(got, secret) {
			t.Errorf("%s shows in:\n%s", secret, got)
		}
	}
	for _, shown := range []string{"name = c1", "env = PRD", "from system/sec/switch", "literal:shown", "P=web/key"} {
		if !strings.Contains(got, shown) {
			t.Errorf("%s is masked in:\n%s", shown, got)
		}
	}
	if got := inventory.Mask("[broken\nsecret = x"); strings.Contains(got, "secret") {
		t.Errorf("what is no configuration shows: %s", got)
	}
}

func FuzzParseItems(f *testing.F) {
	f.Add("FILE /a\nDIR /b\nGLOB /c*\nEXC /d[\nCMD e 'f\n")
	f.Fuzz(func(t *testing.T, text string) {
		items, wrong := inventory.ParseItems(text)
		for _, i := range items {
			if i.Text == "" || i.Kind != "CMD" && !filepath.IsAbs(i.Text) {
				t.Errorf("%q gives %+v", text, i)
			}
		}
		for _, w := range wrong {
			if w == nil || !strings.HasPrefix(w.Error(), "line ") {
				t.Errorf("%q: %v", text, w)
			}
		}
	})
}

func FuzzMask(f *testing.F) {
	f.Add("[cluster]\nsecret = SEKRET\n")
	f.Add("[a]\n#secret=SEKRET\nx = `\nsecret = y\n`\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := inventory.Mask(text)
		// What is masked stays masked.
		if again := inventory.Mask(got); again != got && again != "xxxx\n" {
			t.Errorf("%q became %q, then %q", text, got, again)
		}
	})
}
