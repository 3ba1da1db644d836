package sops_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/krops/sops"
)

// A writer encrypts trees, with fixed keys, in the order of their keys. What is
// read of its files is what the fixtures show of those of the real sops.
type writer struct {
	key []byte
	mac []byte
}

func (w *writer) seal(kind, text, additional string) string {
	block, err := aes.NewCipher(w.key)
	if err != nil {
		panic(err)
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, 32)
	if err != nil {
		panic(err)
	}
	iv := sha512.Sum512([]byte(text + additional))
	sealed := gcm.Seal(nil, iv[:32], []byte(text), []byte(additional))
	cut := len(sealed) - gcm.Overhead()
	b := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("ENC[AES256_GCM,data:%s,iv:%s,tag:%s,type:%s]", b(sealed[:cut]), b(iv[:32]), b(sealed[cut:]), kind)
}

func (w *writer) tree(v any, path string) any {
	leaf := func(kind, text string) any {
		w.mac = append(w.mac, text...)
		if text == "" {
			return ""
		}
		return w.seal(kind, text, path)
	}
	switch v := v.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			var key, value yaml.Node
			key.SetString(name)
			if err := value.Encode(w.tree(v[name], path+name+":")); err != nil {
				panic(err)
			}
			node.Content = append(node.Content, &key, &value)
		}
		return node
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = w.tree(v[i], path)
		}
		return list
	case string:
		return leaf("str", v)
	case int:
		return leaf("int", strconv.Itoa(v))
	case bool:
		return leaf("bool", map[bool]string{true: "True", false: "False"}[v])
	}
	return v
}

// encrypt writes a file for a recipient.
func encrypt(t *rapid.T, tree map[string]any, recipient age.Recipient) string {
	w := &writer{key: []byte("0123456789abcdef0123456789abcdef")}
	var sealed strings.Builder
	armored := armor.NewWriter(&sealed)
	plain, err := age.Encrypt(armored, recipient)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plain.Write(w.key); err != nil {
		t.Fatal(err)
	}
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	if err := armored.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(w.tree(tree, ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree) == 0 {
		text = nil
	}
	const when = "2026-11-30T10:00:00Z"
	sum := sha512.Sum512(w.mac)
	metadata, err := yaml.Marshal(map[string]any{"sops": map[string]any{
		"age":          []any{map[string]any{"recipient": "age1test", "enc": sealed.String()}},
		"lastmodified": when, "mac": w.seal("str", strings.ToUpper(hex.EncodeToString(sum[:])), when), "version": "3.13.3",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + string(metadata)
}

// trees makes mappings of the values Kubernetes objects have.
func trees() *rapid.Generator[map[string]any] {
	name := rapid.StringMatching(`[a-z]{1,4}`).Filter(func(s string) bool { return s != "sops" })
	leaf := rapid.OneOf(
		rapid.StringMatching(`[ -~é☃\n\t]{0,12}`).AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(),
		rapid.SampledFrom([]any{"null", "yes", "0x1", "1e3", "~", "- a", "# b", "2026-11-30"}).AsAny(),
	)
	list := rapid.SliceOfN(leaf, 0, 3).AsAny()
	lists := rapid.Map(list, func(v any) any {
		out := []any{}
		if s, ok := v.([]any); ok {
			out = append(out, s...)
		}
		return out
	})
	inner := rapid.Map(rapid.MapOfN(name, rapid.OneOf(leaf, lists), 0, 3), func(m map[string]any) any { return m })
	return rapid.MapOfN(name, rapid.OneOf(leaf, lists, inner), 0, 4)
}

func TestWhatIsEncryptedComesBackUnlessAByteIsAnother(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	k, err := sops.ParseKey([]byte(identity.String()))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		tree := trees().Draw(r, "tree")
		text := encrypt(r, tree, identity.Recipient())

		plain, err := sops.Decrypt([]byte(text), k)
		if err != nil {
			r.Fatalf("%v\n%s", err, text)
		}
		got := map[string]any{}
		if err := yaml.Unmarshal(plain, &got); err != nil {
			r.Fatalf("%v\n%s", err, plain)
		}
		if diff := cmp.Diff(tree, got); diff != "" {
			r.Fatal(diff)
		}

		// One letter of what is encrypted becomes another.
		var places []int
		for at := range text {
			if inside := strings.LastIndex(text[:at], "ENC[AES256_GCM,data:"); inside >= 0 && !strings.ContainsAny(text[inside:at], "\n]=") && at > inside+20 &&
				isLetter(text[at]) && !strings.Contains(text[inside:at], ",type:") && !strings.HasPrefix(text[at-1:], ",") {
				places = append(places, at)
			}
		}
		at := rapid.SampledFrom(places).Draw(r, "place")
		spoilt := text[:at] + string("AB"[b2i(text[at] == 'A')]) + text[at+1:]
		if again, err := sops.Decrypt([]byte(spoilt), k); err == nil && string(again) != string(plain) {
			r.Fatalf("byte %d is another and nobody noticed:\n%s", at, spoilt)
		}
	})
}

func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
