package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/secret"
	"github.com/holdfast-ops/holdfast/internal/secret/password"
)

// Users know passwords; *[Directory] does.
type Users interface {
	Grants(name string) (rbac.Grants, error)
	Password(name string) (hash string, err error)
	NodeSecret(name string) (secret.String, error)
}

const (
	// comparisons is how many hashes are computed at once: each takes 19 MiB and
	// one core while it runs.
	comparisons = 2
	// remembered is how long a password that matched is not hashed again: a
	// client that sends it with every request costs one hash a minute.
	remembered    = time.Minute
	maxRemembered = 1024
	// MaxPassword bounds what is hashed.
	MaxPassword = 4 << 10
)

// Passwords recognises users by their password, and the nodes of the cluster by
// its secret.
type Passwords struct {
	users   Users
	guesses *Guesses
	slots   chan struct{}
	key     [32]byte // of this process: what is remembered tells nothing
	same    singleflight.Group

	mu    sync.Mutex
	known map[[sha256.Size]byte]time.Time // what matched, until when
}

// NewPasswords returns the passwords of users, guessed at as guesses allows.
func NewPasswords(users Users, guesses *Guesses) *Passwords {
	p := &Passwords{users: users, guesses: guesses, slots: make(chan struct{}, comparisons), known: map[[sha256.Size]byte]time.Time{}}
	_, _ = rand.Read(p.key[:]) // never fails
	return p
}

// errWrong is all the log is told about a password that is not the right one, or
// of a user who does not exist.
var errWrong = errors.New("no such user and password")

// Verify returns the user a name and a password are of. It takes the same time
// whether the user exists or not. One who guesses too much gets a *[WaitError].
func (p *Passwords) Verify(ctx context.Context, name, plain, address string, now time.Time) (Principal, error) {
	if len(plain) > MaxPassword || name == "" {
		return Principal{}, errWrong
	}
	hash, err := p.users.Password(name)
	if err != nil {
		return Principal{}, fmt.Errorf("password of %q: %w", name, err)
	}
	token := p.token(name, hash, plain)
	if hash != "" && p.remembers(token, now) {
		return p.user(name)
	}
	// Those who send the same password at the same time share one answer.
	shared, err, _ := p.same.Do(string(token[:])+Source(address), func() (any, error) {
		if err := p.guesses.Begin(name, address, now); err != nil {
			return Principal{}, err
		}
		found, err := p.compare(context.WithoutCancel(ctx), name, hash, plain)
		switch {
		case err == nil:
			p.guesses.Right(name, address)
		case !errors.Is(err, errWrong):
			p.guesses.GiveBack(name, address)
		}
		if err == nil && found.Method == MethodBasic {
			p.remember(token, now)
		}
		return found, err
	})
	if err != nil {
		return Principal{}, err
	}
	found, ok := shared.(Principal)
	if !ok {
		return Principal{}, errWrong
	}
	return found, nil
}

func (p *Passwords) compare(ctx context.Context, name, hash, plain string) (Principal, error) {
	shared, err := p.users.NodeSecret(name)
	if err != nil {
		return Principal{}, fmt.Errorf("password of %q: %w", name, err)
	}
	if want := shared.Reveal(); want != "" && subtle.ConstantTimeCompare(digest(want), digest(plain)) == 1 {
		return Principal{Name: name, Namespace: "system", Method: MethodNode, Grants: rbac.Grants{{Role: rbac.Root}}}, nil
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return Principal{}, fmt.Errorf("password of %q: %w", name, ctx.Err())
	}
	if hash == "" {
		password.Spend([]byte(plain))
		return Principal{}, errWrong
	}
	ok, err := password.Matches(hash, []byte(plain))
	if err != nil {
		password.Spend([]byte(plain))
		return Principal{}, fmt.Errorf("%w: password of %q: %w", errWrong, name, err)
	}
	if !ok {
		return Principal{}, errWrong
	}
	return p.user(name)
}

func (p *Passwords) user(name string) (Principal, error) {
	grants, err := p.users.Grants(name)
	if err != nil {
		return Principal{}, err
	}
	return Principal{Name: name, Namespace: "system", Method: MethodBasic, User: true, Grants: grants}, nil
}

// token stands for a password that was compared with a hash. Another password
// for the user, set meanwhile, is another hash.
func (p *Passwords) token(name, hash, plain string) [sha256.Size]byte {
	m := hmac.New(sha256.New, p.key[:])
	for _, s := range []string{name, hash, plain} {
		_, _ = fmt.Fprintf(m, "%d:%s", len(s), s) // never fails
	}
	return [sha256.Size]byte(m.Sum(nil))
}

func (p *Passwords) remembers(token [sha256.Size]byte, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.known[token]
	return ok && now.Before(until)
}

func (p *Passwords) remember(token [sha256.Size]byte, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxRemembered {
		clear(p.known) // they are compared again
	}
	p.known[token] = now.Add(remembered)
}

func digest(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:]
}
