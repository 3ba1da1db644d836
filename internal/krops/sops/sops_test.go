package sops_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/holdfast-ops/holdfast/internal/krops/sops"
)

func read(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func key(tb testing.TB, name string) *sops.Key {
	tb.Helper()
	k, err := sops.ParseKey([]byte(read(tb, name)))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// values reads every document of a text.
func values(tb testing.TB, text string) []any {
	tb.Helper()
	var all []any
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var v any
		err := decoder.Decode(&v)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, v)
	}
}

// comments are those of a text, in no order: sops itself moves those it encrypts.
func comments(text string) []string {
	found := regexp.MustCompile(`(?m)(?:^|\s)(#.*)$`).FindAllString(text, -1)
	for i := range found {
		found[i] = strings.TrimSpace(found[i])
	}
	slices.Sort(found)
	return found
}

// The fixtures are written by the real sops, and decrypted by it.
func TestEveryFixtureIsDecryptedAsSopsDoes(t *testing.T) {
	t.Parallel()
	fixtures, err := filepath.Glob("testdata/decrypted/*.yaml")
	if err != nil || len(fixtures) < 14 {
		t.Fatalf("%d fixtures: %v", len(fixtures), err)
	}
	for _, fixture := range fixtures {
		name := strings.TrimSuffix(filepath.Base(fixture), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := "key.txt"
			if name == "hybrid" {
				with = "hybrid.txt"
			}

			got, err := sops.Decrypt([]byte(read(t, "encrypted/"+name+".sops.yaml")), key(t, with))
			if err != nil {
				t.Fatal(err)
			}

			want := read(t, "decrypted/"+name+".yaml")
			if diff := cmp.Diff(values(t, want), values(t, string(got))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(comments(want), comments(string(got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheDocumentsBeforeEncryptionComeBack(t *testing.T) {
	t.Parallel()
	for encrypted, plain := range map[string]string{
		"secret": "secret", "secret-mac-only": "secret", "two-recipients": "secret", "unencrypted-regex": "secret", "types": "types", "types-mac-only": "types",
		"unencrypted-suffix": "types", "documents": "documents", "documents-whole": "documents", "comments": "comments", "suffix": "comments",
	} {
		got, err := sops.Decrypt([]byte(read(t, "encrypted/"+encrypted+".sops.yaml")), key(t, "key.txt"))
		if err != nil {
			t.Fatalf("%s: %v", encrypted, err)
		}
		if diff := cmp.Diff(values(t, read(t, "plain/"+plain+".yaml")), values(t, string(got))); diff != "" {
			t.Errorf("%s: %s", encrypted, diff)
		}
	}
}

// change rewrites a fixture; it fails when nothing was rewritten.
func change(t *testing.T, name, pattern, with string) []byte {
	t.Helper()
	text := read(t, "encrypted/"+name+".sops.yaml")
	changed := regexp.MustCompile(pattern).ReplaceAllString(text, with)
	if changed == text {
		t.Fatalf("%s has no %s", name, pattern)
	}
	return []byte(changed)
}

const (
	moved    = "it cannot be decrypted: it was changed, or moved from another place"
	mismatch = "MAC mismatch: a value was added, removed or changed since the file was encrypted"
)

func TestWhateverWasDoneToAFileIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fixture, pattern, with, want string }{
		"a bit of a value":      {"secret", `(client-id: ENC\[AES256_GCM,data:)...`, "${1}AAA", "line 13: stringData.client-id: " + moved},
		"its iv":                {"secret", `(client-id: ENC.*,iv:)...`, "${1}AAA", "stringData.client-id: " + moved},
		"its tag":               {"secret", `(client-id: ENC.*,tag:)...`, "${1}AAA", "stringData.client-id: " + moved},
		"two values swapped":    {"secret", `client-id: (.*)\n(    )client-secret: (.*)\n`, "client-id: $3\n${2}client-secret: $1\n", "stringData.client-id: " + moved},
		"a key renamed":         {"secret", `client-secret:`, "client-secrex:", "stringData.client-secrex: " + moved},
		"a value removed":       {"secret", `    client-secret: .*\n`, "", mismatch},
		"a plain value changed": {"secret", `namespace: capz-system`, "namespace: elsewhere", mismatch},
		"a plain value removed": {"secret", `    namespace: capz-system\n`, "", mismatch},
		"a plain value added":   {"secret", `type: Opaque`, "type: Opaque\nimmutable: true", mismatch},
		"an encrypted value replaced by a plain one": {
			"secret", `client-secret: .*`, "client-secret: mine",
			"stringData.client-secret: it is not encrypted, although the rules of the file say it is",
		},
		"a plain number among the encrypted":                {"secret", `client-secret: .*`, "client-secret: 5", "stringData.client-secret: it is not encrypted"},
		"a type changed":                                    {"types", `(truth: ENC.*),type:bool`, "${1},type:int", "truth: it is no int, although its type says so"},
		"a type that is unknown":                            {"types", `(truth: ENC.*),type:bool`, "${1},type:blob", `truth: its type "blob" is unknown`},
		"a value in a list made a comment":                  {"types", `(- name: ENC.*),type:str`, "${1},type:comment", "deep.deeper.list.name: it is a comment, where a value should be"},
		"an item made a comment":                            {"types", `(            - ENC.*),type:int`, "${1},type:comment", mismatch},
		"a value made a comment":                            {"types", `(text: ENC.*),type:str`, "${1},type:comment", "text: it is a comment, where a value should be"},
		"items of a list swapped":                           {"types", `(\n            - ENC.*)(\n            - ENC.*type:int.*)`, "$2$1", mismatch},
		"the MAC":                                           {"secret", `(mac: ENC\[AES256_GCM,data:)...`, "${1}AAA", "sops.mac: " + moved},
		"the MAC removed":                                   {"secret", `    mac: ENC.*\n`, "", "sops.mac is missing"},
		"the MAC made plain":                                {"secret", `mac: ENC.*`, "mac: 0123", "sops.mac: it is not encrypted"},
		"the time of the last change":                       {"secret", `lastmodified: "....`, `lastmodified: "1999`, "sops.mac: " + moved},
		"a MAC of everything made one of what is encrypted": {"secret", `(    version:)`, "    mac_only_encrypted: true\n$1", mismatch},
		"a MAC of what is encrypted made one of everything": {"secret-mac-only", `    mac_only_encrypted: true\n`, "", mismatch},
		"the rule":                {"secret", `encrypted_regex: .*`, "encrypted_regex: ^stringData$$", mismatch},
		"two rules":               {"secret", `(    version:)`, "    unencrypted_suffix: x\n$1", "one rule too many"},
		"a rule that is none":     {"secret", `encrypted_regex: .*`, "encrypted_regex: '('", "sops.encrypted_regex: error parsing regexp"},
		"a document removed":      {"documents", `(?s)\n---\napiVersion: v1\nkind: Secret\nmetadata:\n    name: two.*?\n---\n`, "\n---\n", mismatch},
		"a key twice":             {"secret", `type: Opaque`, "type: Opaque\ntype: Opaque", "the key type is there twice"},
		"an alias":                {"secret", `type: Opaque`, "type: &t Opaque\nother: *t", "other is an alias"},
		"a key that is no text":   {"secret", `type: Opaque`, "5: Opaque", "a key of the document is no text"},
		"the data key":            {"secret", `(BEGIN AGE ENCRYPTED FILE-----\n *)...`, "${1}AAA", "decrypt the data key for age1"},
		"a shared key":            {"secret", `(    version:)`, "    shamir_threshold: 2\n$1", "sops.shamir_threshold: files whose key is shared are not supported"},
		"an unknown word of sops": {"secret", `(    version:)`, "    rot13: true\n$1", "sops.rot13 is unknown: a newer sops wrote the file"},
		"sops removed":            {"secret", `(?s)\nsops:.*`, "\n", "it is not encrypted: it has no metadata of SOPS"},
		"sops twice":              {"secret", `\nsops:`, "\nsops: {}\nsops:", "it has the key sops twice"},
		"no age":                  {"secret", `(?s)    age:.*?(    encrypted_regex)`, "    pgp: [{fp: ABCD}]\n$1", "it is encrypted for pgp only, and an age key is what there is"},
		"nobody":                  {"secret", `(?s)    age:.*?(    encrypted_regex)`, "    pgp: []\n$1", "it is encrypted for nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			plain, err := sops.Decrypt(change(t, c.fixture, c.pattern, c.with), key(t, "key.txt"))

			if err == nil || !strings.Contains(err.Error(), c.want) || plain != nil {
				t.Errorf("error %v, want one saying %q", err, c.want)
			}
			if err != nil {
				secretless(t, err)
			}
		})
	}
}

// secretless checks that an error quotes nothing of what is in the fixtures.
func secretless(t *testing.T, err error) {
	t.Helper()
	for _, secret := range []string{"2f6b0d3e", "quoted", "AGE-SECRET-KEY-1", "hunter2"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows %s: %v", secret, err)
		}
	}
}

func TestAFileForOthersNamesThem(t *testing.T) {
	t.Parallel()
	other, mine := key(t, "other.txt").Recipients()[0], key(t, "key.txt").Recipients()[0]

	_, err := sops.Decrypt([]byte(read(t, "encrypted/other-recipient.sops.yaml")), key(t, "key.txt"))

	want := "the key does not fit: the file is encrypted for " + other + ", the key is that of " + mine
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestASharedKeyIsRefused(t *testing.T) {
	t.Parallel()
	_, err := sops.Decrypt([]byte(read(t, "encrypted/groups.sops.yaml")), key(t, "key.txt"))

	if err == nil || !strings.Contains(err.Error(), "sops.key_groups: files whose key is shared between groups are not supported") {
		t.Errorf("error %v", err)
	}
}

func TestOneOfSeveralIdentitiesIsEnough(t *testing.T) {
	t.Parallel()
	both, err := sops.ParseKey([]byte(read(t, "other.txt") + read(t, "key.txt")))
	if err != nil {
		t.Fatal(err)
	}

	if _, err := sops.Decrypt([]byte(read(t, "encrypted/secret.sops.yaml")), both); err != nil {
		t.Error(err)
	}
}

func TestThePublicKeyIsThatOfTheSecretOne(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"key.txt", "other.txt", "hybrid.txt"} {
		_, written, _ := strings.Cut(read(t, name), "# public key: ")
		written, _, _ = strings.Cut(written, "\n")

		if got := key(t, name).Recipients(); len(got) != 1 || got[0] != written {
			t.Errorf("%s: %v, the file says %s", name, got, written)
		}
	}
}

func TestAKeyThatIsNoneIsNamedByItsLine(t *testing.T) {
	t.Parallel()
	whole := read(t, "key.txt")
	for text, want := range map[string]string{
		"":                            "it holds no age identity",
		"# a comment\n":               "it holds no age identity",
		"# a comment\nsecret words\n": "line 2 is no age identity",
		strings.Replace(whole, "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-", 1): "line 4 is no age identity",
		whole[:len(whole)-3]: "line 4 is no age identity",
	} {
		_, err := sops.ParseKey([]byte(text))

		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one saying %q", err, want)
			continue
		}
		secretless(t, err)
	}
}

// A file that ends in the middle, or is another, is refused, whatever it is.
func FuzzDecrypt(f *testing.F) {
	names, err := filepath.Glob("testdata/encrypted/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		f.Add([]byte(read(f, "encrypted/"+filepath.Base(name))))
	}
	for _, text := range []string{"", "---\n---\n", "sops: {}\n", "a: &x [*x]\nsops: {}\n", "? [a]\n: b\n", "sops: {age: [{}], mac: x, lastmodified: 2026-01-01T00:00:00Z}\n"} {
		f.Add([]byte(text))
	}
	k := key(f, "key.txt")
	f.Fuzz(func(t *testing.T, text []byte) {
		plain, err := sops.Decrypt(text, k)
		if (err == nil) != (plain != nil) {
			t.Errorf("%q and error %v", plain, err)
		}
		// Comments are in no MAC: one that is spoilt stays as it is.
		if err == nil && regexp.MustCompile(`(?m)^[^#]*ENC\[AES256_GCM`).Match(plain) {
			t.Errorf("not all is decrypted: %s", plain)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	f.Add([]byte(read(f, "key.txt")))
	f.Add([]byte("AGE-PLUGIN-YUBIKEY-1QQQQ\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := sops.ParseKey(text)
		if err == nil && k == nil {
			t.Error("neither a key nor an error")
		}
	})
}
