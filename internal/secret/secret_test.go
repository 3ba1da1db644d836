package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/secret"
)

const hunter = "hunter2hunter2"

func TestASecretNeverPrints(t *testing.T) {
	t.Parallel()
	type holder struct {
		Exported   secret.String
		unexported secret.String
		Pointer    *secret.String
	}
	s := secret.New(hunter)
	h := holder{s, s, &s}
	var logged bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&logged, nil), slog.NewTextHandler(&logged, nil)} {
		slog.New(handler).Info("seen", slog.Any("secret", s), slog.Any("holder", h))
	}
	asJSON, err1 := json.Marshal(h)
	asYAML, err2 := yaml.Marshal(s)
	asText, err3 := s.MarshalText()
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	texts := []string{logged.String(), string(asJSON), string(asYAML), string(asText), s.String(), s.GoString()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		texts = append(texts, fmt.Sprintf(verb, s), fmt.Sprintf(verb, h), fmt.Sprintf(verb, &s), fmt.Sprintf(verb, []secret.String{s}))
	}

	for _, text := range texts {
		if strings.Contains(text, "hunter") || strings.Contains(text, fmt.Sprintf("%x", hunter)) || strings.Contains(text, fmt.Sprintf("%X", hunter)) {
			t.Errorf("shown: %s", text)
		}
	}
	if !strings.Contains(string(asJSON), `"Exported":"***"`) {
		t.Errorf("json %s", asJSON)
	}
}

func TestASecretIsRevealedOnDemand(t *testing.T) {
	t.Parallel()
	var read struct{ S secret.String }
	if err := json.Unmarshal([]byte(`{"S":"`+hunter+`"}`), &read); err != nil {
		t.Fatal(err)
	}

	if read.S.Reveal() != hunter || read.S.IsZero() || !read.S.Equal(secret.New(hunter)) || read.S.Equal(secret.New("other")) {
		t.Errorf("got %q", read.S.Reveal())
	}
	var zero secret.String
	if zero.Reveal() != "" || !zero.IsZero() || !secret.New("").IsZero() || !zero.Equal(secret.New("")) {
		t.Error("the zero secret is not the empty one")
	}
}

func TestAKeyNeverPrints(t *testing.T) {
	t.Parallel()
	key := derive(t, "a")
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("seen", slog.Any("key", key))

	for _, text := range []string{fmt.Sprintf("%v %x %d %s", key, key, key, key), fmt.Sprint(struct{ K secret.Key }{key})} {
		if strings.Trim(text, "*{} ") != "" {
			t.Errorf("shown: %s", text)
		}
	}
	if !strings.Contains(logged.String(), `"key":"***"`) {
		t.Errorf("logged %s", &logged)
	}
}

func derive(tb interface{ Fatal(...any) }, purpose string) secret.Key {
	key, err := secret.Derive([]byte("master"), purpose)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func TestADerivedKeyIsOneOfItsPurpose(t *testing.T) {
	t.Parallel()

	if derive(t, "a") == derive(t, "b") {
		t.Error("two purposes give the same key")
	}
	if other, err := secret.Derive([]byte("Master"), "a"); err != nil || other == derive(t, "a") {
		t.Errorf("two masters give the same key, %v", err)
	}
	if got := fmt.Sprintf("%x", [secret.KeySize]byte(derive(t, "a"))); got != "07f30e7db83df89517d1dfd208b39628584e2b4869cb1cd9fa5e36756ac1df95" {
		t.Errorf("the derivation changed, which opens nothing sealed before: %s", got)
	}
}

func TestAnEmptyMasterDerivesNothing(t *testing.T) {
	t.Parallel()

	if _, err := secret.Derive(nil, "tokens"); err == nil || !strings.Contains(err.Error(), "tokens") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsSealedOpensInItsPlaceOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plaintext := rapid.SliceOf(rapid.Byte()).Draw(t, "plaintext")
		place := rapid.SliceOf(rapid.Byte()).Draw(t, "place")
		key := derive(t, "a")

		sealed, err := secret.Seal(key, plaintext, place)
		if err != nil {
			t.Fatal(err)
		}

		opened, err := secret.Open(key, sealed, place)
		if err != nil || !bytes.Equal(opened, plaintext) {
			t.Fatalf("got %x, %v", opened, err)
		}
		if _, err := secret.Open(derive(t, "b"), sealed, place); !errors.Is(err, secret.ErrSealed) {
			t.Fatalf("another key: %v", err)
		}
		if _, err := secret.Open(key, sealed, append(place, 0)); !errors.Is(err, secret.ErrSealed) {
			t.Fatalf("another place: %v", err)
		}
		at := rapid.IntRange(0, len(sealed)-1).Draw(t, "damaged")
		sealed[at] ^= byte(1 << rapid.IntRange(0, 7).Draw(t, "bit"))
		if _, err := secret.Open(key, sealed, place); !errors.Is(err, secret.ErrSealed) {
			t.Fatalf("a flipped bit at %d: %v", at, err)
		}
		if _, err := secret.Open(key, sealed[:at], place); !errors.Is(err, secret.ErrSealed) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	})
}

func TestTheSameTextSealsDifferently(t *testing.T) {
	t.Parallel()
	a, err1 := secret.Seal(derive(t, "a"), []byte("x"), nil)
	b, err2 := secret.Seal(derive(t, "a"), []byte("x"), nil)

	if err1 != nil || err2 != nil || bytes.Equal(a, b) {
		t.Errorf("%x twice, %v, %v", a, err1, err2)
	}
}
