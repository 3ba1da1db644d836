package auth_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// cheap is a hash of "hunter2" that costs next to nothing to compare.
const cheap = "$argon2id$v=19$m=8,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$X2GowFcIBjqaOkT9YxifAWkwSk5c0dvtvKHLkcfTBJQ"

// users are usr1 with a password and node1 of the cluster.
type users struct{ asked atomic.Int32 }

func (u *users) Grants(name string) (rbac.Grants, error) {
	if name != "usr1" {
		return nil, &object.NotFoundError{What: name}
	}
	return rbac.Grants{{Role: rbac.Guest, Namespaces: "ns1"}}, nil
}

func (u *users) Password(name string) (string, error) {
	u.asked.Add(1)
	if name == "usr1" || strings.HasPrefix(name, "other") {
		return cheap, nil
	}
	return "", nil
}

func (u *users) NodeSecret(name string) (secret.String, error) {
	if name == "node1" {
		return secret.New("shared"), nil
	}
	return secret.String{}, nil
}

func TestAPasswordIsOfItsUser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, plain, method, grants string
	}{
		{"usr1", "hunter2", auth.MethodBasic, "guest:ns1"},
		{"usr1", "hunter3", "", ""},
		{"usr1", "", "", ""},
		{"usr1", "shared", "", ""},
		{"", "hunter2", "", ""},
		{"usr2", "hunter2", "", ""},
		{"node1", "shared", auth.MethodNode, "root"},
		{"node1", "hunter2", "", ""},
		{"node1", "", "", ""},
		{"node2", "shared", "", ""},
		{"usr1", strings.Repeat("x", auth.MaxPassword+1), "", ""},
	} {
		t.Run(c.name+" "+c.plain[:min(len(c.plain), 10)], func(t *testing.T) {
			t.Parallel()
			passwords := auth.NewPasswords(&users{}, auth.NewGuesses())
			for range 2 { // the second time it is remembered
				got, err := passwords.Verify(t.Context(), c.name, c.plain, "192.0.2.1:40000", now())
				if (err == nil) != (c.method != "") || got.Method != c.method || got.Grants.String() != c.grants {
					t.Errorf("%+v, %v", got, err)
				}
				if err != nil && strings.Contains(err.Error(), "hunter") {
					t.Errorf("the error shows a password: %v", err)
				}
			}
		})
	}
}

func TestWhoGuessesWaitsLongerAndLonger(t *testing.T) {
	t.Parallel()
	passwords := auth.NewPasswords(&users{}, auth.NewGuesses())
	at := now()
	guess := func(name, plain, address string) error {
		_, err := passwords.Verify(t.Context(), name, plain, address, at)
		return err
	}
	wait := func(err error) time.Duration {
		w, ok := errors.AsType[*auth.WaitError](err)
		if !ok {
			return 0
		}
		return w.After
	}
	for range 5 {
		if err := guess("usr1", "wrong", "192.0.2.1:1"); wait(err) > 0 {
			t.Fatalf("the first mistakes are slowed down: %v", err)
		}
	}
	var waits []time.Duration
	for range 6 {
		w := wait(guess("usr1", "wrong", "192.0.2.1:2"))
		waits = append(waits, w.Round(time.Second))
		at = at.Add(w)
		if w := wait(guess("usr1", "wrong", "192.0.2.1:3")); w > 0 {
			t.Fatalf("who waited is told to wait %s", w)
		}
	}
	for i := 1; i < len(waits); i++ {
		if waits[i] < waits[i-1] {
			t.Errorf("the waits are %v", waits)
		}
	}
	if last := waits[len(waits)-1]; last < 10*time.Second {
		t.Errorf("the waits are %v", waits)
	}
	if w := wait(guess("usr1", "hunter2", "192.0.2.1:4")); w == 0 {
		t.Error("the right password is taken from one who must wait: the guess was looked at")
	}
	if err := guess("usr1", "hunter2", "192.0.2.9:1"); err != nil {
		t.Errorf("the user is kept out from elsewhere: %v", err)
	}
	if w := wait(guess("usr2", "wrong", "192.0.2.1:5")); w > 0 {
		t.Errorf("another user of the address waits %s after few mistakes", w)
	}
	at = at.Add(time.Hour)
	if err := guess("usr1", "hunter2", "192.0.2.1:6"); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

func TestAUserWhoExistsIsSlowedDownAsOneWhoDoesNot(t *testing.T) {
	t.Parallel()
	outcome := func(name string) (words []string) {
		passwords := auth.NewPasswords(&users{}, auth.NewGuesses())
		for range 8 {
			_, err := passwords.Verify(t.Context(), name, "wrong", "192.0.2.1:1", now())
			words = append(words, err.Error())
		}
		return words
	}
	if diff := cmp.Diff(outcome("usr1"), outcome("nobody1")); diff != "" {
		t.Error(diff)
	}
}

// The attack of the issue: from one address, then spread over users and
// addresses. Few are compared, and memory stays what it was.
func TestTenThousandBadPasswordsInBoundedMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	for name, attack := range map[string]func(i int) (user, address string){
		"one user, one address": func(int) (string, string) { return "usr1", "192.0.2.1:1" },
		"many users":            func(i int) (string, string) { return fmt.Sprintf("other%d", i), "192.0.2.1:1" },
	} {
		passwords := auth.NewPasswords(&users{}, auth.NewGuesses())
		before := heap()
		compared := 0
		for i := range 10_000 {
			user, address := attack(i)
			_, err := passwords.Verify(t.Context(), user, fmt.Sprint("wrong", i), address, now().Add(time.Duration(i)*time.Millisecond))
			if _, waits := errors.AsType[*auth.WaitError](err); !waits {
				compared++
			}
		}
		if compared > 40 {
			t.Errorf("%s: %d of 10000 were compared in ten seconds", name, compared)
		}
		if grown := int64(heap()) - int64(before); grown > 4<<20 {
			t.Errorf("%s: memory grew by %d bytes", name, grown)
		}
		runtime.KeepAlive(passwords)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A client that opens many connections at once with the right password is not
// one who guesses.
func TestTheSamePasswordAtOnceIsComparedOnce(t *testing.T) {
	t.Parallel()
	passwords := auth.NewPasswords(&users{}, auth.NewGuesses())
	var group sync.WaitGroup
	failed := make(chan error, 50)
	for range 50 {
		group.Go(func() {
			if _, err := passwords.Verify(t.Context(), "usr1", "hunter2", "192.0.2.1:1", now()); err != nil {
				failed <- err
			}
		})
	}
	group.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
}

func TestRequestsAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	requests, limit, at := auth.NewRequests(), auth.Limit{Rate: 20, Burst: 100}, now()
	for i := range 100 {
		if err := requests.Ask("192.0.2.1:1", limit, at); err != nil {
			t.Fatalf("request %d of the burst: %v", i, err)
		}
	}
	err := requests.Ask("192.0.2.1:2", limit, at)
	wait, ok := errors.AsType[*auth.WaitError](err)
	if !ok || math.Abs(wait.After.Seconds()-0.05) > 0.01 {
		t.Fatalf("after the burst: %v", err)
	}
	if err := requests.Ask("192.0.2.1:3", limit, at.Add(wait.After)); err != nil {
		t.Errorf("who waited: %v", err)
	}
	if err := requests.Ask("192.0.2.2:1", limit, at); err != nil {
		t.Errorf("another address: %v", err)
	}
	for range 1000 {
		if err := requests.Ask("192.0.2.3:1", auth.Limit{}, at); err != nil {
			t.Fatalf("without a limit: %v", err)
		}
	}
}

func TestTheAddressesOfOneNetworkAreOneSource(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1:443": "192.0.2.1", "[::ffff:192.0.2.1]:443": "192.0.2.1", "192.0.2.1": "192.0.2.1",
		"[2001:db8::1]:443": "2001:db8::/64", "[2001:db8::ffff:1]:443": "2001:db8::/64", "[fe80::1%eth0]:1": "fe80::/64", "pipe": "pipe",
	} {
		if got := auth.Source(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
