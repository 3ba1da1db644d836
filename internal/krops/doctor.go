package krops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/krops/sops"
)

func (c cli) doctorCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "doctor [PROFILE]",
		Short: "Check all that a bootstrap and a teardown need",
		Long: "Run every check of a bootstrap and of a teardown at once, and some more: of the configuration, the credentials, the\n" +
			"container engine, the files. Nothing is changed. Each finding says what to do. What would stop a run is an error, and\n" +
			"ends with exit code 1.\n\n" + profileHelp,
		Example: "  krops-bootstrap doctor local-host\n  krops-bootstrap doctor aws --output json",
		Args:    atMostOne("profile"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return app.Usage("--output %q: expected text or json", output)
			}
			return c.doctor(cmd.Context(), output, args)
		},
	}
	cmd.Flags().StringVar(&output, "output", "text", "`format`: text, or json for one finding a line")
	return cmd
}

// severity is how bad a finding is.
type severity string

const (
	good severity = "ok"
	note severity = "note"
	warn severity = "warning"
	bad  severity = "error"
)

// finding is the result of a check.
type finding struct {
	Check    string   `json:"check"`
	Severity severity `json:"severity"`
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy,omitempty"`
}

// examination is what the checks work with.
type examination struct {
	cli
	root      string
	bootstrap *config.Settings // nil when the environment does not fit
	teardown  *config.Settings
}

// checking is how long all checks may take.
const checking = 2 * time.Minute

func (c cli) doctor(ctx context.Context, output string, args []string) error {
	x, found, err := c.examine(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checking)
	defer cancel()
	checks := x.checks()
	results := make([][]finding, len(checks))
	var wait sync.WaitGroup
	for i, check := range checks {
		wait.Go(func() { results[i] = check(ctx) })
	}
	wait.Wait()
	found = append(found, slices.Concat(results...)...)
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err
	}
	return c.diagnose(output, x.teardown.Environment.Name, found)
}

// examine reads the configuration: without one there is nothing to check.
func (c cli) examine(args []string) (x examination, found []finding, err error) {
	x = examination{cli: c}
	if x.teardown, x.root, err = c.settings(config.VerbTeardown, args); err != nil {
		return x, nil, err
	}
	if x.bootstrap, _, err = c.settings(config.VerbBootstrap, args); err != nil {
		x.bootstrap = nil
		found = append(found, finding{"environment", bad, err.Error(), "set the variable to what its message says, or unset it"})
	}
	return x, found, nil
}

func (c cli) diagnose(output, environment string, found []finding) error {
	worst := good
	for _, f := range found {
		if f.Severity == bad {
			worst = bad
		}
		text := f.text()
		if output == "json" {
			line, err := json.Marshal(f)
			if err != nil {
				return err
			}
			text = string(line) + "\n"
		}
		if _, err := fmt.Fprint(c.Streams.Out, text); err != nil {
			return err
		}
	}
	if worst == bad {
		return program.Silent(1)
	}
	if output == "text" {
		_, err := fmt.Fprintf(c.Streams.Out, "✓ Nothing stops a run of %s.\n", environment)
		return err
	}
	return nil
}

func (f finding) text() string {
	mark := map[severity]string{good: "✓   ", note: ">>>   ", warn: "!   ", bad: "✗   "}[f.Severity]
	text := mark + f.Check + ": " + strings.ReplaceAll(strings.TrimRight(f.Message, "\n"), "\n", "\n      ") + "\n"
	if f.Remedy != "" && f.Severity != good {
		text += "      → " + strings.ReplaceAll(f.Remedy, "\n", "\n        ") + "\n"
	}
	return text
}

// checks are independent of each other, and each has a site of its own.
func (x examination) checks() []func(context.Context) []finding {
	list := []func(context.Context) []finding{x.configuration, x.lock, x.kubeconfig, x.kind, x.programs, x.secrets}
	if x.bootstrap != nil {
		list = append(list, x.steps(x.bootstrap, plan.Bootstrap(x.bootstrap, plan.World{}))...)
	}
	return append(list, x.steps(x.teardown, plan.Teardown(x.teardown, plan.World{Host: plan.HostUnreachable}))...)
}

// steps carries out the checks a plan begins with. They change nothing.
func (x examination) steps(s *config.Settings, p plan.Plan) []func(context.Context) []finding {
	remedies := map[string]string{
		"preflight-github":    "set GIT_REPO_URL to https://github.com/<owner>/<name>, and GITHUB_TOKEN to a token that may read it",
		"preflight-age":       "set AGE_KEY_FILE to the key that .sops.yaml encrypts for; 'mise run sops-keygen' makes one",
		"preflight-eip-quota": "ask for a higher quota, or release addresses that nothing uses",
		"preflight-engine":    "start docker or podman, or set CONTAINER_ENGINE and CONTAINER_HOST",
		"aws-identity":        "log in to AWS: the sweep of a teardown asks what is left with the same credentials",
	}
	var list []func(context.Context) []finding
	for _, step := range p.Steps {
		remedy, ok := remedies[step.ID]
		if step.Kind != plan.Check || !ok {
			continue
		}
		list = append(list, func(ctx context.Context) []finding {
			work, err := x.work(s, x.root)
			heard := &hearing{}
			if err == nil {
				err = work.Do(ctx, step, heard)
			}
			name := strings.TrimPrefix(step.ID, "preflight-")
			if err != nil {
				return []finding{{name, bad, err.Error(), remedy}}
			}
			return append([]finding{{Check: name, Severity: good, Message: heard.or("in order")}}, heard.warnings(name)...)
		})
	}
	return list
}

// hearing is a voice that remembers.
type hearing struct {
	mu    sync.Mutex
	said  []string
	wrong []string
}

func (h *hearing) add(list *[]string, format string, a []any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*list = append(*list, fmt.Sprintf(format, a...))
}

// Say implements [run.Voice].
func (h *hearing) Say(format string, a ...any) { h.add(&h.said, format, a) }

// Detail implements [run.Voice].
func (h *hearing) Detail(format string, a ...any) { h.add(&h.said, format, a) }

// Done implements [run.Voice].
func (h *hearing) Done(format string, a ...any) { h.add(&h.said, format, a) }

// Warn implements [run.Voice].
func (h *hearing) Warn(format string, a ...any) { h.add(&h.wrong, format, a) }

// Trouble implements [run.Voice].
func (h *hearing) Trouble(format string, a ...any) { h.add(&h.wrong, format, a) }

// Print implements [run.Voice].
func (h *hearing) Print(text string) { h.add(&h.said, "%s", []any{strings.TrimRight(text, "\n")}) }

func (h *hearing) or(nothing string) string {
	if len(h.said) == 0 {
		return nothing
	}
	return strings.Join(h.said, "\n")
}

func (h *hearing) warnings(check string) []finding {
	var list []finding
	for _, text := range h.wrong {
		list = append(list, finding{Check: check, Severity: warn, Message: text})
	}
	return list
}

var _ run.Voice = (*hearing)(nil)

func (x examination) configuration(context.Context) []finding {
	found := x.teardown.File.Lint(os.DirFS(x.root))
	if len(found) == 0 {
		return []finding{{Check: "configuration", Severity: good, Message: "bootstrap.toml fits its repository"}}
	}
	var list []finding
	for _, problem := range found {
		list = append(list, finding{"configuration", bad, fmt.Sprint(problem), "correct bootstrap.toml, or the file it names"})
	}
	return list
}

func (x examination) lock(context.Context) []finding {
	dir := run.StateDir(func(name string) string { return variable(x.Process, name) })
	if dir == "" {
		return []finding{{"state", bad, homeless, "set HOME, or XDG_STATE_HOME and MGMT_KUBECONFIG"}}
	}
	if h, held := run.Held(dir, x.teardown.KindCluster); held {
		err := &run.HeldError{Cluster: x.teardown.KindCluster, Holder: h}
		return []finding{{"state", bad, err.Error(), "wait until it ends, or set KROPS_KIND_CLUSTER"}}
	}
	if err := run.Lockable(dir, x.teardown.KindCluster); err != nil {
		return []finding{{"state", bad, err.Error(), "remove what is there, or set XDG_STATE_HOME"}}
	}
	if err := makeable(dir); err != nil {
		return []finding{{"state", bad, err.Error(), "make the directory writable, or set XDG_STATE_HOME"}}
	}
	return []finding{{Check: "state", Severity: good, Message: "no other run works on kind cluster '" + x.teardown.KindCluster + "'"}}
}

// makeable tells why a directory cannot be made or written to, without making it.
func makeable(dir string) error {
	for {
		info, err := os.Stat(dir)
		switch parent := filepath.Dir(dir); {
		case errors.Is(err, fs.ErrNotExist) && parent != dir:
			dir = parent
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is no directory", dir)
		}
		if err := syscall.Access(dir, 2|1); err != nil { // to write and to search
			return fmt.Errorf("%s cannot be written to: %w", dir, err)
		}
		return nil
	}
}

// kubeconfig looks whether the file of the management cluster leads to one.
func (x examination) kubeconfig(ctx context.Context) []finding {
	const name = "mgmt-kubeconfig"
	path := x.teardown.MgmtKubeconfig
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []finding{{Check: name, Severity: good, Message: path + " does not exist: the management cluster is still to be made"}}
	}
	if err != nil {
		return []finding{{name, bad, err.Error(), "make the file readable, or set MGMT_KUBECONFIG"}}
	}
	var list []finding
	if loose := info.Mode().Perm() & 0o077; loose != 0 {
		list = append(list, finding{name, warn, fmt.Sprintf("%s can be read by others (%v)", path, info.Mode().Perm()), "chmod 600 " + path})
	}
	work, err := x.work(x.teardown, x.root)
	if err != nil {
		return append(list, finding{Check: name, Severity: bad, Message: err.Error()})
	}
	const inventory = plan.Fact("target/inventory")
	found := work.Observe(ctx, plan.World{}, inventory).Of(inventory)
	switch why, failed := found.Failed(); {
	case failed:
		list = append(list, finding{
			name, x.rival(ctx, work), path + " leads to no management cluster that can be asked: " + why,
			"make it reachable; if it is gone, move the file away: a bootstrap is refused beside it while the kind cluster has no inventory",
		})
	case found.There():
		list = append(list, finding{Check: name, Severity: good, Message: path + ": " + x.teardown.Environment.MgmtCluster + " manages itself"})
	default:
		list = append(list, finding{
			Check: name, Severity: note,
			Message: path + " leads to a cluster without Cluster " + x.teardown.Environment.MgmtCluster + ": a bootstrap exports over it and keeps it as .old",
		})
	}
	return list
}

// rival is how bad a management cluster is that cannot be asked: it stops a
// bootstrap unless the kind cluster still has the inventory.
func (x examination) rival(ctx context.Context, work run.Site) severity {
	for _, f := range []plan.Fact{"host/kind-cluster", "source/inventory"} {
		if !work.Observe(ctx, plan.World{}, f).Of(f).There() {
			return bad
		}
	}
	return warn
}

func (x examination) kind(ctx context.Context) []finding {
	work, err := x.work(x.teardown, x.root)
	if err != nil {
		return []finding{{Check: "kind", Severity: bad, Message: err.Error()}}
	}
	name := "kind cluster '" + x.teardown.KindCluster + "'"
	found := work.Observe(ctx, plan.World{}, "host/kind-cluster").Of("host/kind-cluster")
	switch why, failed := found.Failed(); {
	case failed:
		return []finding{{"kind", bad, "cannot tell whether " + name + " exists: " + why, "start the container engine"}}
	case found.There():
		return []finding{{Check: "kind", Severity: good, Message: name + " exists and is used again"}}
	}
	return []finding{{Check: "kind", Severity: good, Message: name + " does not exist"}}
}

// programs looks for the one program a run may start, and tells which of those the
// reference implementation needs are there.
func (x examination) programs(context.Context) []finding {
	e := x.teardown.Environment
	list := []finding{}
	if e.PostKindCreateTask != "" {
		f := finding{Check: "task", Severity: good, Message: "mise runs '" + e.PostKindCreateTask + "' after kind"}
		if x.which("mise") == "" {
			f = finding{"task", bad, "mise is not in PATH, and runs task '" + e.PostKindCreateTask + "' after kind", "install mise"}
		}
		list = append(list, f)
	}
	var lacking []string
	for _, tool := range e.Tools() {
		if x.which(tool) == "" {
			lacking = append(lacking, tool)
		}
	}
	text := "all programs the original needs are in PATH; this one needs none of them"
	if len(lacking) > 0 {
		text = "not in PATH, and not needed: " + strings.Join(lacking, ", ")
	}
	return append(list, finding{Check: "programs", Severity: note, Message: text})
}

// which finds a program as a shell does.
func (x examination) which(name string) string {
	for _, dir := range filepath.SplitList(variable(x.Process, "PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// secrets decrypts each encrypted manifest of the repository. Nothing leaves memory.
func (x examination) secrets(context.Context) []finding {
	if x.bootstrap == nil {
		return nil
	}
	var files []string
	err := filepath.WalkDir(x.root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case strings.HasSuffix(d.Name(), ".sops.yaml") && d.Name() != ".sops.yaml":
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return []finding{{Check: "secrets", Severity: warn, Message: err.Error()}}
	}
	if len(files) == 0 {
		return nil
	}
	text, err := os.ReadFile(x.bootstrap.SopsAgeKeyFile)
	if err != nil {
		return []finding{{"secrets", x.needed(), "encrypted manifests cannot be checked: " + err.Error(), "set AGE_KEY_FILE"}}
	}
	info, err := os.Stat(x.bootstrap.SopsAgeKeyFile)
	var list []finding
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		list = append(list, finding{"secrets", warn, fmt.Sprintf("%s can be read by others (%v)", x.bootstrap.SopsAgeKeyFile, info.Mode().Perm()), "chmod 600 " + x.bootstrap.SopsAgeKeyFile})
	}
	key, err := sops.ParseKey(text)
	if err != nil {
		return append(list, finding{"secrets", x.needed(), err.Error(), "set AGE_KEY_FILE"})
	}
	return append(list, x.decrypt(files, key)...)
}

func (x examination) decrypt(files []string, key *sops.Key) []finding {
	var list []finding
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err == nil {
			_, err = sops.Decrypt(text, key)
		}
		if err != nil {
			name, _ := filepath.Rel(x.root, path)
			list = append(list, finding{"secrets", x.needed(), name + ": " + err.Error(), "encrypt it for the key too: add its public key to .sops.yaml, then 'sops updatekeys " + name + "'"})
		}
	}
	if len(list) == 0 {
		list = []finding{{Check: "secrets", Severity: good, Message: fmt.Sprintf("the age key opens all %d encrypted manifests", len(files))}}
	}
	return list
}

// needed is how bad it is when something encrypted cannot be read.
func (x examination) needed() severity {
	if x.bootstrap.NeedsGithub() {
		return bad
	}
	return warn
}
