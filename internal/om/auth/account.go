package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Caller is the process at the other end of the user socket, as the kernel says.
type Caller struct {
	UID    int
	Groups []string // its control groups, those of all hierarchies
	Unseen bool     // the kernel does not tell them
}

// Accounts recognises who calls on the user socket: the local accounts, and the
// processes of the containers of the agent.
type Accounts struct {
	Root      string // where the agent lives, empty for that of the system
	Grantor   Grantor
	Names     Namer
	Residents Residents
}

// Grantor says what local accounts are given; *[Directory] does.
type Grantor interface {
	// GroupGrants are those of the unix groups.
	GroupGrants(groups []string) (rbac.Grants, error)
	// AccountGrants are those of the users that name one of these accounts, by
	// login or by uid.
	AccountGrants(names ...string) (grants rbac.Grants, found bool, err error)
}

// Namer knows the accounts of the node; *[Names] does.
type Namer interface {
	Lookup(ctx context.Context, uid int, now time.Time) (Account, error)
}

// Verify returns the account a process runs as, or the container it is in: there
// the numbers of the accounts mean nothing. Root is an account like any other here:
// the root socket is where it is root.
func (a *Accounts) Verify(ctx context.Context, c Caller, now time.Time) (Principal, error) {
	m, err := a.resident(c)
	if err != nil {
		return Principal{}, fmt.Errorf("user socket: a process of uid %d: %w", c.UID, err)
	}
	if !m.IsZero() {
		p, found, err := a.sidecar(m)
		if err != nil {
			return Principal{}, fmt.Errorf("user socket: %w", err)
		}
		if found {
			return p, nil
		}
	}
	uid := strconv.Itoa(c.UID)
	account, err := a.Names.Lookup(ctx, c.UID, now)
	if err != nil {
		// A user that names the uid does without the name service.
		grants, found, grantErr := a.Grantor.AccountGrants(uid)
		if !found || grantErr != nil {
			return Principal{}, errors.Join(fmt.Errorf("user socket: account %s: %w", uid, err), grantErr)
		}
		return Principal{Name: uid, Namespace: "system", Method: MethodAccount, Grants: grants}, nil
	}
	grants, err := a.Grantor.GroupGrants(account.Groups)
	if err != nil {
		return Principal{}, fmt.Errorf("user socket: account %s: %w", uid, err)
	}
	names := []string{uid}
	name := uid
	if account.Login != "" {
		name, names = account.Login, append(names, account.Login)
	}
	more, _, err := a.Grantor.AccountGrants(names...)
	if err != nil {
		return Principal{}, fmt.Errorf("user socket: account %s: %w", name, err)
	}
	for _, g := range more {
		if !slices.Contains(grants, g) {
			grants = append(grants, g)
		}
	}
	return Principal{Name: name, Namespace: "system", Method: MethodAccount, Grants: grants}, nil
}

// groupSection is what the sections of unix groups are called, before the index
// that names the group.
const groupSection = "uxgroup#"

// GroupGrants returns what the cluster configuration gives the members of groups.
func (d *Directory) GroupGrants(groups []string) (rbac.Grants, error) {
	doc, err := d.Store.Merged()
	if err != nil {
		return nil, err
	}
	ev, err := d.Store.Evaluator(object.Cluster(), doc, "")
	if err != nil {
		return nil, err
	}
	var grants rbac.Grants
	for _, section := range doc.Sections() {
		name, ok := strings.CutPrefix(section, groupSection)
		if !ok || !slices.Contains(groups, name) {
			continue
		}
		text, _, err := ev.Value(section, config.Option{Name: "grant", Scopable: true, Inherit: config.LeafOnly})
		if err != nil {
			return nil, fmt.Errorf("%s.grant: %w", section, err)
		}
		given, err := rbac.Parse(strings.ToLower(text))
		if err != nil {
			return nil, fmt.Errorf("%s.grant: %w", section, err)
		}
		for _, g := range given {
			if !slices.Contains(grants, g) {
				grants = append(grants, g)
			}
		}
	}
	return grants, nil
}

// AccountGrants returns the grants of the users whose uxuser is one of names. A
// user that names no account is none of the node, even under the same name.
func (d *Directory) AccountGrants(names ...string) (grants rbac.Grants, found bool, err error) {
	paths, err := d.Store.List()
	if err != nil {
		return nil, false, err
	}
	for _, p := range paths {
		if p.Kind != object.KindUsr || p.Namespace != object.SystemNamespace {
			continue
		}
		settings, err := d.Store.Object(p)
		if err != nil || settings.UnixUser == "" || !slices.Contains(names, settings.UnixUser) {
			continue // one that cannot be read is nobody; the others are not kept out by it
		}
		given, err := rbac.Parse(strings.Join(settings.Grant, " "))
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", p, err)
		}
		grants, found = append(grants, given...), true
	}
	return grants, found, nil
}
