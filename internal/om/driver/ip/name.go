package ip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/linux/link"
)

// freshness is how long a status trusts what a name was resolved to: a look at an
// instance must not wait for the name servers each time.
const freshness = 10 * time.Minute

// known is the address, without asking the name servers when it can be helped.
func (h *host) known(ctx context.Context) (addr netip.Addr, note string, err error) {
	if addr, err := netip.ParseAddr(h.name); err == nil {
		return addr.Unmap().WithZone(""), "", nil
	}
	if info, err := os.Stat(h.nameFile()); err == nil {
		if age := time.Since(info.ModTime()); age >= 0 && age < freshness {
			if addr, err := h.remembered(); err == nil {
				return addr, "", nil
			}
		}
	}
	return h.resolve(ctx)
}

// resolve looks the name up, and remembers what it is. The note says that it could
// not be, and what is used instead.
func (h *host) resolve(ctx context.Context) (addr netip.Addr, note string, err error) {
	if addr, err := netip.ParseAddr(h.name); err == nil {
		return addr.Unmap().WithZone(""), "", nil
	}
	limited, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(limited, "ip", h.name)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s has no address", h.name)
	}
	if err != nil {
		addr, unknown := h.remembered()
		if unknown != nil {
			return addr, "", fmt.Errorf("look up the address: %w", err)
		}
		return addr, fmt.Sprintf("look up the address: %s: %s is what %s was last", err, addr, h.name), nil
	}
	addr = all[0].Unmap()
	for _, a := range all {
		if a.Unmap().Is4() {
			addr = a.Unmap()
			break
		}
	}
	if err := h.keep(h.nameFile(), []byte(h.name+" "+addr.String()+"\n")); err != nil {
		return addr, "", err
	}
	return addr, "", nil
}

func (h *host) nameFile() string { return filepath.Join(h.env.StateDir, "address") }

func (h *host) remembered() (netip.Addr, error) {
	b, err := os.ReadFile(h.nameFile())
	if err != nil {
		return netip.Addr{}, err
	}
	name, text, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	if name != h.name {
		return netip.Addr{}, errors.New("that is of another name")
	}
	return netip.ParseAddr(text)
}

// added is what a start added, so that a stop removes that, whatever the
// configuration says by then.
type added struct {
	link.Address

	Route *link.Route `json:",omitempty"`
}

// place is where an address is.
type place struct {
	dev  string
	addr netip.Addr
}

func (a added) place() place { return place{dev: a.Interface, addr: a.Prefix.Addr()} }

func (h *host) addedFile() string { return filepath.Join(h.env.StateDir, "added.json") }

func (h *host) record(a added) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return h.keep(h.addedFile(), append(b, '\n'))
}

func (h *host) recorded() (*added, error) {
	b, err := os.ReadFile(h.addedFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing is
	}
	if err != nil {
		return nil, err
	}
	var a added
	if err := json.Unmarshal(b, &a); err != nil || !a.Prefix.IsValid() {
		h.env.Warnf("%s is not readable, and left out: the address of the configuration is what is removed", h.addedFile())
		return nil, nil //nolint:nilnil,nilerr // as above
	}
	return &a, nil
}

func (h *host) forget() error {
	if err := os.Remove(h.addedFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (h *host) keep(name string, text []byte) error {
	if err := os.MkdirAll(h.env.StateDir, 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(name, text, 0o600, renameio.WithStaticPermissions(0o600))
}
