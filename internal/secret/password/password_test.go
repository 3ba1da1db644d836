package password_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/secret/password"
)

// cheap is a hash of "hunter2" that costs next to nothing to compare.
const cheap = "$argon2id$v=19$m=8,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$X2GowFcIBjqaOkT9YxifAWkwSk5c0dvtvKHLkcfTBJQ"

func matches(t *testing.T, hash, plain string) bool {
	t.Helper()
	ok, err := password.Matches(hash, []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestAPasswordMatchesItsHashAndNoOther(t *testing.T) {
	t.Parallel()
	hash, err := password.Hash([]byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}

	if !matches(t, hash, "hunter2") {
		t.Error("the password does not match its hash")
	}
	for _, other := range []string{"", "hunter", "hunter22", "Hunter2", hash} {
		if matches(t, hash, other) {
			t.Errorf("%q matches", other)
		}
	}
	if strings.Contains(hash, "hunter2") || !password.IsHash(hash) || password.IsHash("hunter2") {
		t.Errorf("the hash is %q", hash)
	}
}

func TestAHashMadeBeforeStillMatches(t *testing.T) {
	t.Parallel()

	if !matches(t, cheap, "hunter2") || matches(t, cheap, "hunter3") {
		t.Error("a hash of other costs is not compared with its own")
	}
}

func TestTheSamePasswordHashesDifferently(t *testing.T) {
	t.Parallel()
	a, errA := password.Hash([]byte("x"))
	b, errB := password.Hash([]byte("x"))

	if a == b || errA != nil || errB != nil {
		t.Errorf("%q twice, %v, %v", a, errA, errB)
	}
}

func TestALineEndIsNoPartOfAPassword(t *testing.T) {
	t.Parallel()

	for _, typed := range []string{"hunter2\n", "hunter2\r\n", "hunter2"} {
		if !matches(t, cheap, typed) {
			t.Errorf("%q does not match", typed)
		}
	}
	if matches(t, cheap, "hunter2\n\n") || matches(t, cheap, " hunter2") {
		t.Error("more than one line end is dropped")
	}
	for _, empty := range []string{"", "\n", "\r\n"} {
		if _, err := password.Hash([]byte(empty)); !errors.Is(err, password.ErrEmpty) {
			t.Errorf("%q: got %v", empty, err)
		}
	}
}

func TestWhatIsNoHashIsAnErrorThatDoesNotShowIt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "hunter2", "$argon2i$v=19$m=8,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$AAAA", "$argon2id$v=18$m=8,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$AAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		strings.Replace(cheap, "m=8,", "m=4294967295,", 1), strings.Replace(cheap, "t=1", "t=0", 1), strings.Replace(cheap, "t=1", "t=17", 1),
		strings.Replace(cheap, "p=1", "p=0", 1), strings.Replace(cheap, "m=8,", "m=08,", 1), strings.Replace(cheap, "m=8,", "m=1,", 1), cheap + "=", cheap + "$",
		strings.Replace(cheap, "MDEyMzQ1Njc4OWFiY2RlZg", "", 1),
	} {
		ok, err := password.Matches(text, []byte("hunter2"))
		if ok || err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, %v", text, ok, err)
		}
	}
}

func FuzzAnyTextIsReadOrRefused(f *testing.F) {
	f.Add(cheap, []byte("hunter2"))
	f.Add("$argon2id$v=19$m=99999999,t=1,p=1$AAAA$AAAA", []byte{})
	f.Fuzz(func(t *testing.T, text string, plain []byte) {
		if len(text) > 300 || strings.Contains(text, "m=") && !strings.Contains(text, "m=8,") {
			t.Skip("costs too much")
		}
		if ok, err := password.Matches(text, plain); err != nil && ok {
			t.Errorf("%q matches what is no hash", text)
		}
	})
}

func TestOneFlippedBitOfAPasswordIsAnotherPassword(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := []byte("hunter2")
		plain[rapid.IntRange(0, len(plain)-1).Draw(t, "at")] ^= byte(1 << rapid.IntRange(0, 7).Draw(t, "bit"))

		if ok, err := password.Matches(cheap, plain); ok || err != nil {
			t.Fatalf("%q matches, %v", plain, err)
		}
	})
}
