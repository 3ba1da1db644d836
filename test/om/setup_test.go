package om_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
)

// setup gives a script a root of its own, a node name, and a free port for the
// listener; at the end every process that lives under that root is killed.
func setup(env *testscript.Env) error {
	root := filepath.Join(env.WorkDir, "root")
	port, err := ports.take()
	if err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	web, err := exec.LookPath("web")
	if err != nil {
		return err
	}
	env.Setenv("WEB", web)
	env.Setenv("OSVC_ROOT_PATH", root)
	env.Setenv("NODE", name)
	env.Setenv("LSNR", strconv.Itoa(port))
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("EDITOR", "false")
	env.Defer(func() { killUnder(root); removeGroups(root) })

	etc := filepath.Join(root, "etc")
	if err := os.MkdirAll(etc, 0o700); err != nil {
		return err
	}
	conf := fmt.Sprintf("[listener]\naddr = 127.0.0.1\nport = %d\n", port)
	return os.WriteFile(filepath.Join(etc, "node.conf"), []byte(conf), 0o600)
}

// ports hands out ports below those the kernel gives to outgoing connections, so
// that nobody takes one between its choice and its use, nor during a restart.
var ports = portRange{next: firstPort + os.Getpid()%1000*10}

const (
	firstPort = 18000
	lastPort  = 32000
)

type portRange struct {
	mu   sync.Mutex
	next int
}

func (r *portRange) take() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range lastPort - firstPort {
		r.next++
		if r.next > lastPort {
			r.next = firstPort
		}
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:"+strconv.Itoa(r.next))
		if err == nil {
			return r.next, l.Close()
		}
	}
	return 0, errors.New("no free port")
}

// killUnder kills the processes whose environment names root: those the script
// started, and no other. It starts again until none is left, for they may fork.
func killUnder(root string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		left, err := proc.Search(ctx, "OSVC_ROOT_PATH="+root)
		if err == nil && len(left) == 0 {
			return
		}
		for _, p := range left {
			h, err := p.Open()
			if err != nil {
				continue // it has ended
			}
			_ = h.Signal(syscall.SIGKILL)
			_ = h.WaitGone(ctx)
			_ = h.Close()
		}
	}
}

// removeGroups removes the control groups of the agent that lived under root.
func removeGroups(root string) {
	sum := sha256.Sum256([]byte(root))
	name := "opensvc-root." + hex.EncodeToString(sum[:4]) + ".slice"
	var dirs []string
	for _, pattern := range []string{"/sys/fs/cgroup/opensvc.slice/", "/sys/fs/cgroup/*/opensvc.slice/"} {
		tops, _ := filepath.Glob(pattern + name)
		for _, top := range tops {
			_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					dirs = append(dirs, path)
				}
				return nil
			})
		}
	}
	for _, dir := range slices.Backward(dirs) {
		_ = os.Remove(dir)
	}
}

func condition(name string) (bool, error) {
	if name == "root" {
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}
