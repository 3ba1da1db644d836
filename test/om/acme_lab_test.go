//go:build lab

package om_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// TestACME obtains certificates from a real ACME server, which is built from its
// module: the test needs Go and nothing else.
func TestACME(t *testing.T) {
	t.Parallel()
	l := newACMELab(t)
	webroot := t.TempDir()
	l.serve(webroot)
	byFiles, byListener := l.pebble(l.web), l.pebble(l.listener)

	testscript.Run(t, testscript.Params{
		Files: []string{"lab/acme.txtar"},
		Setup: func(env *testscript.Env) error {
			if err := setup(env); err != nil {
				return err
			}
			env.Setenv("SSL_CERT_FILE", l.authority)
			env.Setenv("DIRECTORY", byFiles)
			env.Setenv("OTHER", byListener)
			env.Setenv("WEBROOT", webroot)
			env.Setenv("ACMEPORT", strconv.Itoa(l.listener))
			return nil
		},
		Cmds: commands(), Condition: condition, RequireExplicitExec: true,
	})
}

// acmeLab is a server that resolves every name to this machine, and directories
// that believe it.
type acmeLab struct {
	t             *testing.T
	dir           string
	authority     string // certificate of the directories
	dns           string
	web, listener int // ports where the answers to challenges are
	env           []string
}

func newACMELab(t *testing.T) *acmeLab {
	t.Helper()
	l := &acmeLab{t: t, dir: t.TempDir()}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", l.dir+"/", "github.com/letsencrypt/pebble/v2/cmd/pebble", "github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv")
	build.Dir = "lab/modules/pebble"
	build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the ACME server: %v\n%s", err, out)
	}
	l.makeCertificate()
	l.web, l.listener = l.port(), l.port()
	l.dns = net.JoinHostPort("127.0.0.1", strconv.Itoa(l.port()))
	management := net.JoinHostPort("127.0.0.1", strconv.Itoa(l.port()))
	l.start(management, "pebble-challtestsrv", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dnsserver", l.dns,
		"-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-management", management)
	return l
}

func (l *acmeLab) makeCertificate() {
	pair, err := certificate.Maker{Random: rand.Reader, Now: time.Now()}.SelfSign(certificate.Request{
		Names: []string{"localhost", "127.0.0.1"}, Validity: time.Hour,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	keys, err := pair.Keys()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, name := range []string{certificate.KeyPrivate, certificate.KeyChain} {
		l.write(name, keys[name])
	}
	l.authority = filepath.Join(l.dir, certificate.KeyChain)
}

func (l *acmeLab) write(name string, data []byte) {
	if err := os.WriteFile(filepath.Join(l.dir, name), data, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *acmeLab) port() int {
	port, err := ports.take()
	if err != nil {
		l.t.Fatal(err)
	}
	return port
}

// serve is the web server of the names.
func (l *acmeLab) serve(webroot string) {
	listener, err := (&net.ListenConfig{}).Listen(l.t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(l.web)))
	if err != nil {
		l.t.Fatal(err)
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(webroot)), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	l.t.Cleanup(func() { _ = server.Close() })
}

// pebble starts a directory that reads the answers on a port, and returns its url.
func (l *acmeLab) pebble(httpPort int) string {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(l.port()))
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": address, "managementListenAddress": net.JoinHostPort("127.0.0.1", strconv.Itoa(l.port())),
		"certificate": filepath.Join(l.dir, certificate.KeyChain), "privateKey": filepath.Join(l.dir, certificate.KeyPrivate),
		"httpPort": httpPort, "tlsPort": l.port(), "keyAlgorithm": "ecdsa",
		"domainBlocklist": []string{"blocked.org"},
		"profiles":        map[string]any{"default": map[string]any{"description": "default", "validityPeriod": 90 * 24 * 3600}},
	}})
	if err != nil {
		l.t.Fatal(err)
	}
	name := "pebble-" + strconv.Itoa(httpPort) + ".json"
	l.write(name, config)
	// One nonce in five is refused, as happens.
	l.start(address, "pebble", "-config", filepath.Join(l.dir, name), "-dnsserver", l.dns)
	return "https://" + address + "/dir"
}

// start runs a server until the test ends, and waits until it listens.
func (l *acmeLab) start(address, name string, args ...string) {
	l.t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(l.t.Context(), filepath.Join(l.dir, name), args...)
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=20")
	cmd.Env = append(cmd.Env, l.env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if l.t.Failed() {
			l.t.Logf("%s:\n%s", name, out.String())
		}
	})
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	err := retry.Until(ctx, retry.Policy{Interval: 50 * time.Millisecond}, func(ctx context.Context) (bool, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, c.Close()
	})
	if err != nil {
		l.t.Fatalf("%s does not listen on %s: %v", name, address, err)
	}
}
