package nodemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// alivePeriod is how often the node remembers that its daemon is alive.
const alivePeriod = 10 * time.Second

// The files of the node.
const (
	shutdownFile = "last_shutdown"  // its time is when a daemon was last alive
	frozenFile   = "frozen"         // the freeze flag
	bootFile     = "freeze_boot_id" // of the boot whose kernel had the node frozen
	heardFile    = "heard.json"     // the peers that are heard
)

func nodeFile(p host.Paths, name string) string { return filepath.Join(p.Var(), "node", name) }

// lastShutdown is when a former daemon was last alive.
func lastShutdown(p host.Paths) time.Time { return modTime(nodeFile(p, shutdownFile)) }

func modTime(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// rememberAlive notes that the daemon is alive, now and then and when it ends.
func (m *Monitor) rememberAlive(ctx context.Context) {
	tick := time.NewTicker(alivePeriod)
	defer tick.Stop()
	for {
		if err := m.alive(); err != nil && m.log.News(shutdownFile, err.Error()) {
			m.o.Log.Warn("when this daemon was alive is not remembered", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
			_ = m.alive() // said already if it fails
			m.writeHeard()
			return
		case <-m.note:
			m.writeHeard()
		case <-tick.C:
		}
	}
}

func (m *Monitor) alive() error {
	file, at := nodeFile(m.o.Paths, shutdownFile), time.Now()
	err := os.Chtimes(file, at, at)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(file, nil, 0o644)
}

// seeFreeze looks at the freeze flag of the node, that an action has just changed.
func (m *Monitor) seeFreeze() {
	m.o.State.SetNodeFrozen(m.self, modTime(nodeFile(m.o.Paths, frozenFile)))
}

// freezeAtBoot reports whether the kernel was told to have the node frozen, and no
// daemon has done it since.
func (m *Monitor) freezeAtBoot() bool {
	if !slices.Contains(strings.Fields(m.o.KernelArgs), "osvc.freeze") || m.o.BootID == "" {
		return false
	}
	known, _ := os.ReadFile(nodeFile(m.o.Paths, bootFile)) // none: it was not done
	return strings.TrimSpace(string(known)) != m.o.BootID
}

// rememberFreeze notes that the freeze the kernel was told of was done.
func (m *Monitor) rememberFreeze() error {
	if !m.freeze {
		return nil
	}
	if err := renameio.WriteFile(nodeFile(m.o.Paths, bootFile), []byte(m.o.BootID+"\n"), 0o644); err != nil {
		return fmt.Errorf("remember the freeze of this boot: %w", err)
	}
	return nil
}

// heard are the peers that the daemon of a boot hears. The next daemon of that boot
// takes them for lost when it does not hear them: what runs on the node is older
// than it.
type heard struct {
	BootID string   `json:"boot_id"`
	Nodes  []string `json:"nodes"`
}

// heardBefore are the peers that a former daemon of this boot heard until it ended.
func (m *Monitor) heardBefore() []string {
	text, err := os.ReadFile(nodeFile(m.o.Paths, heardFile))
	var before heard
	if err != nil || json.Unmarshal(text, &before) != nil || before.BootID != m.o.BootID || m.o.BootID == "" {
		return nil
	}
	return before.Nodes
}

// rememberHeard notes which peers are heard, once one is.
func (m *Monitor) rememberHeard(view *cluster.View) {
	nodes, ever := []string{}, false
	for name, p := range view.Peers {
		ever = ever || p.Heard
		if p.Beating {
			nodes = append(nodes, name)
		}
	}
	slices.Sort(nodes)
	if !ever || m.heard != nil && slices.Equal(nodes, m.heard) {
		return
	}
	m.heard = nodes
	select {
	case m.note <- struct{}{}:
	default:
	}
}

// writeHeard remembers which peers are heard. A disk that hangs holds up nothing
// else.
func (m *Monitor) writeHeard() {
	m.mu.Lock()
	nodes := m.heard
	if m.leaving { // the peers know: nobody is lost to this node
		nodes = []string{}
	}
	m.mu.Unlock()
	if nodes == nil {
		return
	}
	text, err := json.Marshal(heard{BootID: m.o.BootID, Nodes: nodes})
	if err == nil {
		err = os.MkdirAll(nodeFile(m.o.Paths, ""), 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(nodeFile(m.o.Paths, heardFile), text, 0o644)
	}
	if err != nil && m.log.News(heardFile, err.Error()) {
		m.o.Log.Warn("which peers are heard is not remembered", slog.Any("err", err))
	}
}
