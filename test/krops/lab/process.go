package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Process is a child that ends when this process ends, however that happens.
type Process struct {
	Name string
	Log  string // file its output goes to

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// spawn starts commands from one thread that stays: the kernel takes the end of the
// thread that started a child for the death of its parent.
var spawn = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// begin starts a program of the assets, its output in a file of dir.
func begin(dir, program string, args ...string) (*Process, error) {
	assets, err := Assets()
	if err != nil {
		return nil, err
	}
	p := &Process{Name: program, Log: filepath.Join(dir, program+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()                            // the child has it
	p.cmd = exec.Command(filepath.Join(assets, program), args...) //nolint:noctx // it outlives the call
	p.cmd.Dir, p.cmd.Env = dir, []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "GOMEMLIMIT=1500MiB"}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	spawn() <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.done)
	}()
	return p, nil
}

// Ended tells whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Kill ends the process at once.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// Signal sends a signal, SIGSTOP and SIGCONT for instance.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// wait polls until ready says so, the process ends, or the time is up.
func (p *Process) wait(limit time.Duration, ready func() error) error {
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended: %s", p.Name, tail(p.Log, 5))
		case <-end.C:
			return fmt.Errorf("%s is not ready after %s: %w: %s", p.Name, limit, err, tail(p.Log, 5))
		case <-tick.C:
		}
	}
}

// tail is the end of a log.
func tail(file string, lines int) string {
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }() // only read
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		_, err = f.Seek(max(0, end-16<<10), io.SeekStart)
		if err != nil {
			return err.Error()
		}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Assets is where test/krops/lab/assets has put what the lab runs.
func Assets() (string, error) {
	store := os.Getenv("KUBE_ASSETS")
	if store == "" {
		cache, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		store = filepath.Join(cache, ".cache", "kube-assets")
	}
	dir := filepath.Join(store, "lab")
	for _, name := range []string{"etcd", "kube-apiserver", "crds"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("%w: run test/krops/lab/assets first", err)
		}
	}
	return dir, nil
}

// ErrNotYet is what a poll says that has to go on.
var ErrNotYet = errors.New("not yet")
