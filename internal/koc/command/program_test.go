package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// says is a command that prints its words and arguments.
func says(name string, change func(*command.Command)) command.Entry {
	return command.Entry{Name: name, Build: func() command.Command {
		cmd := command.Command{
			Short: "Say " + name,
			Args:  []command.Arg{{Name: "<arg>", Help: "What to say", Many: true, Optional: true}},
			Flags: []command.Flag{
				{Name: "long", Help: "More"},
				{Name: "host", Value: "<host>", Help: "Where"},
			},
		}
		cmd.Run = func(_ context.Context, c *command.Call) error {
			c.Printf("%s%q\n", c.Name, c.Texts("<arg>"))
			return nil
		}
		if change != nil {
			change(&cmd)
		}
		return cmd
	}}
}

// things is a list with three rows.
func things(cmd *command.Command) {
	cmd.Output = command.Listed
	cmd.OptIn = []string{"Age"}
	cmd.Args = nil
	cmd.Run = func(_ context.Context, c *command.Call) error {
		return c.List([]render.Column{{Title: "ID"}, {Title: "Name"}}, render.Rows([][]any{{"1", "web"}, {"2", "db one"}, {"3", "web-2"}}))
	}
}

func services(all []command.Service) func() []command.Service {
	return func() []command.Service { return all }
}

func entries(all ...command.Entry) func() []command.Entry {
	return func() []command.Entry { return all }
}

type outcome struct {
	code     int
	out, err string
}

// start runs a small program.
func start(t *testing.T, change func(*program.Process), args ...string) outcome {
	t.Helper()
	fails := func(err error) func(*command.Command) {
		return func(cmd *command.Command) {
			cmd.Run = func(context.Context, *command.Call) error { return err }
		}
	}
	p := &command.Program{
		Name: "koc", Version: "v1", Short: "A program",
		Services: services([]command.Service{{Name: "compute", Title: "Servers", Entries: entries(
			says("server list", things), says("server show", nil), says("server migrate", nil), says("server migrate confirm", nil),
			says("server migration list", nil), says("server group list", func(cmd *command.Command) { cmd.Aliases = []string{"group of servers list"} }), says("service list", nil),
			says("security group rule create", nil),
			says("server delete", func(cmd *command.Command) {
				cmd.Args = []command.Arg{{Name: "<server>", Help: "Which", Many: true, Complete: "server"}}
				cmd.Flags = append(cmd.Flags, command.Flag{Name: "state", Value: "<state>", Help: "State", Choices: []string{"up", "down"}})
			}),
			says("fail plain", fails(errors.New("disk\x1b[31m on fire"))),
			says("fail canceled", fails(fmt.Errorf("wait: %w", context.Canceled))),
			says("fail pipe", fails(&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE})),
			says("fail code", fails(program.WithCode(errors.New("the other program failed"), 7))),
			says("fail reject", fails(command.Reject("--a needs --b"))),
		)}}),
		Open: func(*command.Call) (*cloud.Cloud, error) { return nil, nil }, //nolint:nilnil // no session
	}
	streams, _, out, stderr := iostreams.Test()
	proc := program.Process{Name: "koc", Args: args, Env: func(string) string { return "" }, Streams: streams}
	if change != nil {
		change(&proc)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if slices.Contains(args, "canceled") {
		cancel()
	}
	defer cancel()
	return outcome{p.Run(ctx, proc), out.String(), stderr.String()}
}

func compat(p *program.Process) { p.Name = "openstack" }

func TestWordsFindTheirCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"server show a":                     `server show["a"]`,
		"serv sh a":                         `server show["a"]`,
		"--long server show a":              `server show["a"]`,
		"server --long show a":              `server show["a"]`,
		"--host h server show a":            `server show["a"]`,
		"--host server server show a":       `server show["a"]`,
		"--host=h server show a":            `server show["a"]`,
		"--os-cloud server server show a":   `server show["a"]`,
		"--os-clo net server sh a":          `server show["a"]`,
		"-v server show a":                  `server show["a"]`,
		"server migrate a":                  `server migrate["a"]`,
		"server migrate confirm a":          `server migrate confirm["a"]`,
		"server migrate conf a":             `server migrate["conf" "a"]`,
		"server migrate --long confirm":     `server migrate["confirm"]`,
		"server migrate --debug confirm a":  `server migrate confirm["a"]`,
		"server migrate -- confirm":         `server migrate["confirm"]`,
		"se g r c":                          `security group rule create[]`,
		"server show server":                `server show["server"]`,
		"group of servers list x":           `group of servers list["x"]`,
		"gr of servers l":                   `group of servers list[]`,
		"server show list":                  `server show["list"]`,
		"server show -5":                    `server show["-5"]`,
		"server show --host show show":      `server show["show"]`,
		"server show --host=a --debug -- -": `server show["-"]`,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			got := start(t, nil, strings.Fields(line)...)
			if got.code != 0 || strings.TrimSpace(got.out) != want {
				t.Errorf("%+v, want %s", got, want)
			}
		})
	}
	// The openstack client abbreviates below commands too.
	if got := start(t, compat, "server", "migrate", "a"); got.out != "server migrate[\"a\"]\n" {
		t.Errorf("%+v", got)
	}
	if got := start(t, compat, "ser", "mig", "l"); got.out != "server migration list[]\n" {
		t.Errorf("%+v", got)
	}
}

func TestExitCodesAndErrors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]outcome{
		"fail plain":                   {1, "", "koc: disk on fire\n"},
		"fail canceled":                {130, "", "koc: wait: interrupted\n"},
		"fail pipe":                    {141, "", ""},
		"fail code":                    {7, "", "koc: the other program failed\n"},
		"fail reject":                  {2, "", "koc: --a needs --b\nUsage: koc fail reject [flags] [<arg> [<arg> ...]]\nRun 'koc fail reject --help' for its flags.\n"},
		"fail":                         {0, "Usage: koc fail <command> [flags] [arguments]\n\nCommands:\n  canceled  Say fail canceled.\n  code      Say fail code.\n  pipe      Say fail pipe.\n  plain     Say fail plain.\n  reject    Say fail reject.\n\nRun 'koc fail <command> --help' for more about one of them.\n", ""},
		"--version":                    {0, "koc v1\n", ""},
		"server --version":             {0, "koc v1\n", ""},
		"server lsit":                  {2, "", "koc: unknown command \"lsit\" for \"koc server\"; did you mean \"server list\"?\nRun 'koc server --help' for the available commands.\n"},
		"s list":                       {2, "", "koc: unknown command \"s\"\nRun 'koc --help' for the available commands.\n"},
		"vertex list":                  {2, "", "koc: unknown command \"vertex\"\nRun 'koc --help' for the available commands.\n"},
		"serveice list":                {2, "", "koc: unknown command \"serveice\"; did you mean \"service\"?\nRun 'koc --help' for the available commands.\n"},
		"server show --hots":           {2, "", "koc: unknown flag --hots; did you mean \"--host\"?\nUsage: koc server show [flags] [<arg> [<arg> ...]]\nRun 'koc server show --help' for its flags.\n"},
		"--nonsense":                   {2, "", "koc: unknown flag --nonsense\nRun 'koc --help'.\n"},
		"server list --watch-count 2":  {2, "", "koc: --watch-count needs --watch\nUsage: koc server list [flags]\nRun 'koc server list --help' for its flags.\n"},
		"server list --watch 2s":       {2, "", "koc: unexpected argument \"2s\"\nUsage: koc server list [flags]\nRun 'koc server list --help' for its flags.\n"},
		"server list --watch=1ms":      {2, "", "koc: --watch: interval 1ms is too short: at least 250ms\nUsage: koc server list [flags]\nRun 'koc server list --help' for its flags.\n"},
		"server list -f value -c Name": {0, "web\ndb one\nweb-2\n", ""},
		"server list --watch --watch-count=1 -f csv": {0, "ID,Name\n1,web\n2,db one\n3,web-2\n", ""},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, start(t, nil, strings.Fields(line)...), cmp.AllowUnexported(outcome{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheOtherVoice(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]outcome{
		"fail plain":      {1, "", "disk on fire\n"},
		"server show --h": {0, "", ""},
		"server delete":   {2, "", "usage: openstack server delete [flags] <server> [<server> ...]\nopenstack server delete: error: the following arguments are required: <server>\n"},
		"fail":            {2, "", "openstack: 'fail' is not an openstack command. See 'openstack --help'.\nDid you mean one of these?\n  fail canceled\n  fail code\n  fail pipe\n  fail plain\n  fail reject\n"},
		"fail --help":     {0, "Command \"fail\" matches:\n  fail canceled\n  fail code\n  fail pipe\n  fail plain\n  fail reject\n", ""},
		"server x":        {2, "", "openstack: 'server x' is not an openstack command. See 'openstack --help'.\n"},
	} {
		got := start(t, compat, strings.Fields(line)...)
		if line == "server show --h" {
			// --h is --host or --help: as ambiguous there as here.
			want = outcome{2, "", "usage: openstack server show [flags] [<arg> [<arg> ...]]\nopenstack server show: error: ambiguous option: --h could match --host, --help\n"}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
	env := func(p *program.Process) {
		p.Env = func(name string) string { return map[string]string{"KOC_COMPAT": "openstack"}[name] }
	}
	for _, got := range []outcome{start(t, env, "fail", "plain"), start(t, nil, "fail", "plain", "--compat=openstack"), start(t, nil, "--compat", "openstack", "fail", "plain")} {
		if got.err != "disk on fire\n" {
			t.Errorf("%+v", got)
		}
	}
	bad := func(p *program.Process) { p.Env = func(string) string { return "python" } }
	if got := start(t, bad, "server", "list"); got.code != 2 || !strings.Contains(got.err, `KOC_COMPAT="python"`) {
		t.Errorf("%+v", got)
	}
	// --w is --watch here and nothing there; --t is --timing there, --timeout and --token-cache here.
	if got := start(t, compat, "server", "show", "--ti"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := start(t, nil, "server", "show", "--ti"); got.code != 2 {
		t.Errorf("%+v", got)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	page := start(t, nil, "server", "list", "--help")
	for _, part := range []string{
		"Say server list.\n\nUsage: koc server list [flags]\n", "--host <host>  Where.", "Columns shown when named in --column or --sort-column:\n  Age",
		"-f, --format <format>", "One of table, json, yaml, value, csv.", "-w, --watch[=<interval>]", "[koc]",
		"\nRun \"koc --help\" to list the global auth, TLS, and output flags.\n",
	} {
		if !strings.Contains(page.out, part) {
			t.Errorf("%q is not in\n%s", part, page.out)
		}
	}
	for _, other := range [][]string{{"help", "server", "list"}, {"help", "server", "l"}, {"server", "list", "--mtu", "--help", "x"}, {"-h", "server", "list"}} {
		if got := start(t, nil, other...); other[0] != "server" && got.out != page.out {
			t.Errorf("%q: %+v", other, got)
		}
	}
	if got := start(t, nil, "server", "delete", "--help"); got.code != 0 || !strings.Contains(got.out, "<server>  Which.") {
		t.Errorf("%+v", got)
	}
	if got := start(t, nil, "help", "server", "lst"); got.code != 2 {
		t.Errorf("%+v", got)
	}
	root := start(t, nil)
	for _, part := range []string{"A program.", "\nServers\n  fail, security group, server, service\n", "--os-auth-url <url>"} {
		if !strings.Contains(root.out, part) {
			t.Errorf("%q is not in\n%s", part, root.out)
		}
	}
	if strings.Contains(root.out, "--os-profile") {
		t.Error("the help shows hidden flags")
	}
	for line := range strings.SplitSeq(root.out+page.out, "\n") {
		if len(line) > 100 {
			t.Errorf("line of %d columns: %s", len(line), line)
		}
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	in := func(p *program.Process) {
		p.Env = func(name string) string { return map[string]string{"HOME": home}[name] }
	}
	for line, want := range map[string]string{
		"ser":                           "server\nservice",
		"server mig":                    "migrate\tSay server migrate\nmigration",
		"server migrate con":            "confirm\tSay server migrate confirm",
		"server delete --st":            "--state\tState",
		"server delete --state ":        "up\ndown",
		"server delete --state d":       "down",
		"server delete --state=d":       "--state=down",
		"server delete --state = d":     "--state=down",
		"server delete web":             "web\nweb-2",
		"server delete web d":           "db one",
		"server delete --host x w":      "web\nweb-2",
		"server list -f ":               "table\njson\nyaml\nvalue\ncsv",
		"server list --format=j":        "--format=json",
		"completion z":                  "zsh",
		"help":                          "help\tShow what a command does and how to call it",
		"server show x ":                "",
		"server delete -- --st":         "",
		"server delete --nonsense=":     "",
		"--compat ":                     "koc\nopenstack",
		"server list --os-project-name": "--os-project-name\tWork in this project (OS_PROJECT_NAME)",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			got := start(t, in, append([]string{"__complete", "--"}, strings.Split(line, " ")...)...)
			if diff := cmp.Diff(want, strings.TrimSuffix(got.out, "\n")); diff != "" || got.code != 0 {
				t.Errorf("exit code %d: %s", got.code, diff)
			}
		})
	}
}

func TestCompletionKeepsNamesForAWhile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	in := func(p *program.Process) {
		p.Env = func(name string) string { return map[string]string{"HOME": home}[name] }
	}
	start(t, in, "__complete", "--", "server", "delete", "w")
	files, err := filepath.Glob(filepath.Join(home, ".cache", "koc", "complete", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing is kept: %v", err)
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(files[0], []byte("wand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := start(t, in, "__complete", "--", "server", "delete", "w"); got.out != "wand\n" {
		t.Errorf("%+v", got)
	}
}

func TestScriptsOfCompletionAreSmall(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := start(t, nil, "completion", shell)
		if got.code != 0 || len(got.out) > 10<<10 || !strings.Contains(got.out, "__complete --") {
			t.Errorf("%s: %+v", shell, got)
		}
	}
	if got := start(t, nil, "completion", "tcsh"); got.code != 2 {
		t.Errorf("%+v", got)
	}
	if got := start(t, compat, "complete"); !strings.Contains(got.out, "complete -o default -o nosort -F _openstack_complete openstack") {
		t.Errorf("%+v", got)
	}
	if got := start(t, nil, "complete", "--shell", "none"); !strings.Contains(got.out, "\nserver list\n") && !strings.HasPrefix(got.out, "server list\n") {
		t.Errorf("%+v", got)
	}
	if got := start(t, nil, "command", "list", "--group", "comp", "-f", "value", "-c", "Command Group"); got.out != "compute\n" {
		t.Errorf("%+v", got)
	}
	if got := start(t, compat, "command", "list", "--group", "comp", "-f", "value", "-c", "Command Group"); got.out != "openstack.compute.v2\n" {
		t.Errorf("%+v", got)
	}
}

func TestTheLogFileHasTheErrorToo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	got := start(t, nil, "fail", "plain", "--log-file", file)
	if data, err := os.ReadFile(file); err != nil || string(data) != got.err || got.err == "" {
		t.Errorf("%q, %v, want %q", data, err, got.err)
	}
	if got := start(t, nil, "fail", "plain", "--log-file", filepath.Dir(file)); got.code != 1 || !strings.Contains(got.err, "--log-file") {
		t.Errorf("%+v", got)
	}
}

func TestOutputFlagsReachTheRenderer(t *testing.T) {
	t.Parallel()
	env := map[string]string{"CLIFF_MAX_TERM_WIDTH": "33", "CLIFF_FIT_WIDTH": "1", "COLUMNS": "44"}
	var seen render.Options
	p := &command.Program{
		Name: "koc", Services: services([]command.Service{{Name: "x", Entries: entries(says("thing list", func(cmd *command.Command) {
			cmd.Output = command.Listed
			cmd.Run = func(_ context.Context, c *command.Call) error { seen = c.Output; return nil }
		}))}}),
		Open: func(*command.Call) (*cloud.Cloud, error) { return nil, nil }, //nolint:nilnil // no session
	}
	run := func(args ...string) render.Options {
		streams, _, _, stderr := iostreams.Test()
		proc := program.Process{Name: "koc", Args: append([]string{"thing", "list"}, args...), Env: func(name string) string { return env[name] }, Streams: streams}
		if code := p.Run(t.Context(), proc); code != 0 {
			t.Fatalf("%q: %d %s", args, code, stderr)
		}
		return seen
	}
	if got := run(); got.MaxWidth != 33 || !got.FitWidth || got.TermWidth != 44 || got.Format != "table" {
		t.Errorf("%+v", got)
	}
	got := run("-f", "csv", "-c", "A", "-c", "B", "--sort-column=C", "--sort-desc", "--quote", "all", "--max-width=5", "--print-e", "--noindent", `--value-separator=\t|`)
	want := render.Options{
		Format: "csv", Columns: []string{"A", "B"}, SortBy: []string{"C"}, Descending: true, Quote: "all", MaxWidth: 5, FitWidth: true,
		TermWidth: 44, PrintEmpty: true, NoIndent: true, Separator: "\t|",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
