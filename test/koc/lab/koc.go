package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Koc runs the program under test.
type Koc struct {
	Path   string
	Compat bool // speak as the openstack client does
}

// Run runs a command line; an error means that it could not be run.
func (k Koc) Run(ctx context.Context, args ...string) (Run, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.Path, args...)
	cmd.Env = Env(k.Compat)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	r := Run{Argv: args, Out: out.String(), Err: stderr.String(), Code: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, err
	}
	return r, nil
}

// Env is the environment of both clients: of the caller's, what is not theirs.
func Env(compat bool) []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "OS_") && !strings.HasPrefix(e, "CLIFF_") && !strings.HasPrefix(e, "KOC_") &&
			!strings.HasPrefix(e, "COLUMNS=") && !strings.HasPrefix(e, "TZ=") {
			env = append(env, e)
		}
	}
	env = append(env, "OS_CLIENT_CONFIG_FILE="+CloudDir()+"/clouds.yaml", "OS_CLOUD=test", "TZ=UTC")
	if compat {
		env = append(env, "KOC_COMPAT=openstack")
	}
	return env
}

// CloudDir is where the cloud lives.
func CloudDir() string {
	if d := os.Getenv("CLOUD_DIR"); d != "" {
		return d
	}
	return "/var/tmp/cloud"
}
