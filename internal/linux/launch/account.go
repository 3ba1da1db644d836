package launch

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"
)

// account is whom the command runs as; nil is whoever runs already.
type account struct {
	uid, gid int
	groups   []int
}

// lookup finds a user and a group, by name or by number.
func lookup(userName, groupName string) (*account, error) {
	if userName == "" && groupName == "" {
		return nil, nil //nolint:nilnil // nil is "as it is"
	}
	a := &account{uid: os.Getuid(), gid: os.Getgid()}
	if userName != "" {
		if err := a.user(userName); err != nil {
			return nil, err
		}
	}
	if groupName != "" {
		gid, err := GroupID(groupName)
		if err != nil {
			return nil, err
		}
		a.gid = gid
		if !slices.Contains(a.groups, gid) {
			a.groups = append(a.groups, gid)
		}
	}
	return a, nil
}

func (a *account) user(name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		uid, numeric := strconv.Atoi(name)
		if numeric != nil {
			return fmt.Errorf("user %q: not found on this host", name)
		}
		if u, err = user.LookupId(name); err != nil {
			// A number need not have a name.
			a.uid, a.gid, a.groups = uid, uid, []int{uid}
			return nil //nolint:nilerr // see above
		}
	}
	ids, err := u.GroupIds()
	if err != nil {
		return fmt.Errorf("groups of user %s: %w", name, err)
	}
	for _, text := range append([]string{u.Gid}, ids...) {
		gid, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("group %q of user %s: %w", text, name, err)
		}
		if !slices.Contains(a.groups, gid) {
			a.groups = append(a.groups, gid)
		}
	}
	a.gid = a.groups[0]
	a.uid, err = strconv.Atoi(u.Uid)
	return err
}

// UserID is the number of a user given by name or by number.
func UserID(name string) (int, error) {
	a := &account{}
	err := a.user(name)
	return a.uid, err
}

// GroupID is the number of a group given by name or by number.
func GroupID(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if err == nil {
		return strconv.Atoi(g.Gid)
	}
	gid, err := strconv.Atoi(name)
	if err != nil {
		return 0, fmt.Errorf("group %q: not found on this host", name)
	}
	return gid, nil
}

// become changes the running process to the account, for good. What the process
// is already needs no privilege.
func (a *account) become() error {
	if a == nil || a.uid == os.Getuid() && a.gid == os.Getgid() && os.Getuid() != 0 {
		return nil
	}
	if err := syscall.Setgroups(a.groups); err != nil {
		return fmt.Errorf("become user %d group %d: set groups: %w", a.uid, a.gid, err)
	}
	if err := syscall.Setresgid(a.gid, a.gid, a.gid); err != nil {
		return fmt.Errorf("become group %d: %w", a.gid, err)
	}
	if err := syscall.Setresuid(a.uid, a.uid, a.uid); err != nil {
		return fmt.Errorf("become user %d: %w", a.uid, err)
	}
	return nil
}
