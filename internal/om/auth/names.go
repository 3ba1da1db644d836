package auth

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// Account is a local account, as the name service knows it.
type Account struct {
	Login  string // empty: the uid has none
	Groups []string
}

const (
	lookupTimeout = 3 * time.Second // of the name service
	lookupsAtOnce = 8
	lookupLife    = time.Minute      // of what it said
	lookupRetry   = 10 * time.Second // after it did not answer
	maxAccounts   = 1024
)

// Names asks the name service of the node, directories included, who accounts
// are: through its own commands, since they know what it is made of. A directory
// that does not answer keeps out the accounts it is asked about, and nobody else.
type Names struct {
	runner host.Runner
	slots  chan struct{}
	same   singleflight.Group

	mu    sync.Mutex
	known map[int]named
}

type named struct {
	account Account
	err     error
	until   time.Time
}

// NewNames returns the accounts of the node commands run on.
func NewNames(r host.Runner) *Names {
	return &Names{runner: r, slots: make(chan struct{}, lookupsAtOnce), known: map[int]named{}}
}

// Lookup returns the account of a uid.
func (n *Names) Lookup(ctx context.Context, uid int, now time.Time) (Account, error) {
	n.mu.Lock()
	known, ok := n.known[uid]
	n.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.account, known.err
	}
	shared, _, _ := n.same.Do(strconv.Itoa(uid), func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		account, err := n.ask(limited, uid)
		fresh := named{account: account, err: err, until: now.Add(lookupLife)}
		if err != nil {
			fresh.until = now.Add(lookupRetry)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.known) >= maxAccounts {
			clear(n.known)
		}
		n.known[uid] = fresh
		return fresh, nil
	})
	fresh, ok := shared.(named)
	if !ok {
		return Account{}, errors.New("the name service was not asked")
	}
	return fresh.account, fresh.err
}

func (n *Names) ask(ctx context.Context, uid int) (Account, error) {
	select {
	case n.slots <- struct{}{}:
		defer func() { <-n.slots }()
	case <-ctx.Done():
		return Account{}, fmt.Errorf("the name service has too much to do: %w", ctx.Err())
	}
	out, err := n.runner.Run(ctx, host.Cmd{Argv: []string{"getent", "passwd", strconv.Itoa(uid)}})
	exit, failed := errors.AsType[*host.ExitError](err)
	switch {
	case failed && exit.Code == 2: // no such account
		return Account{}, nil
	case host.NotFound(err):
		return fromFiles(uid)
	case err != nil:
		return Account{}, fmt.Errorf("ask the name service: %w", err)
	}
	login, _, ok := strings.Cut(string(out.Stdout), ":")
	if !ok || login == "" || strings.HasPrefix(login, "-") {
		return Account{}, fmt.Errorf("the name service says nothing usable of account %d", uid)
	}
	out, err = n.runner.Run(ctx, host.Cmd{Argv: []string{"id", "-G", "-n", "-z", login}})
	if exit, failed := errors.AsType[*host.ExitError](err); err != nil && (!failed || exit.Code != 1 || len(out.Stdout) == 0) {
		return Account{}, fmt.Errorf("ask the name service for the groups of %s: %w", login, err)
	}
	groups := strings.FieldsFunc(string(out.Stdout), func(r rune) bool { return r == 0 || r == '\n' })
	return Account{Login: login, Groups: groups}, nil
}

// fromFiles reads the files of the node, where there is no getent.
func fromFiles(uid int) (Account, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if _, unknown := errors.AsType[user.UnknownUserIdError](err); unknown {
		return Account{}, nil
	}
	if err != nil {
		return Account{}, fmt.Errorf("account %d: %w", uid, err)
	}
	ids, err := u.GroupIds()
	if err != nil {
		return Account{}, fmt.Errorf("groups of %s: %w", u.Username, err)
	}
	account := Account{Login: u.Username}
	for _, id := range ids {
		if g, err := user.LookupGroupId(id); err == nil && !slices.Contains(account.Groups, g.Name) {
			account.Groups = append(account.Groups, g.Name)
		}
	}
	return account, nil
}
