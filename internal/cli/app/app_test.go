package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/host"
)

// TestMain lets a test run this binary as the program.
func TestMain(m *testing.M) {
	if os.Getenv("APP_TEST_PROGRAM") != "" {
		app.Main("prog", program)
		return
	}
	m.Run()
}

type notFoundError struct{ error }

func (notFoundError) ExitCode() int { return 2 }

// program is a small command tree.
func program(p app.Process) *cobra.Command {
	root := &cobra.Command{Use: "prog", Short: "A program", Version: "v1"}
	root.PersistentFlags().Bool("debug", false, "say more")
	node := &cobra.Command{Use: "node", Short: "Act on nodes"}
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List nodes", Example: "  prog node list --wait",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.Println("n1")
			return nil
		},
	}
	list.Flags().BoolP("wait", "w", false, "wait for all of them")
	list.Flags().String("format", "table", "one of the `formats`")
	node.AddCommand(list, &cobra.Command{Use: "secret", Hidden: true, Run: func(*cobra.Command, []string) {}})
	fail := &cobra.Command{Use: "fail", Short: "Fail", RunE: func(cmd *cobra.Command, args []string) error {
		return map[string]error{
			"plain":   errors.New("disk on fire"),
			"missing": fmt.Errorf("open: %w", notFoundError{errors.New("web: object not found")}),
			"many":    errors.Join(errors.New("n1: down"), errors.New("n2: down"), notFoundError{errors.New("n3: gone")}),
			"code":    app.WithCode(errors.New("partly done"), 3),
			"partly":  errors.Join(app.Silent(1), errors.New("n2: down"), fmt.Errorf("n3: %w", app.Silent(4))),
			"said": app.Said(errors.Join(errors.Join(errors.New("n1: printed")), errors.New("n2: not")), func(err error) bool {
				return err.Error() == "n1: printed"
			}),
			"over":   app.Said(fmt.Errorf("stop: %w", context.Canceled), func(error) bool { return true }),
			"silent": fmt.Errorf("said: %w", app.Silent(4)),
			"usage":  app.Usage("--to %q: not a date", "x"),
			"none":   app.WithCode(nil, 3),
		}[args[0]]
	}}
	wait := &cobra.Command{Use: "wait", Short: "Wait for a signal", RunE: func(cmd *cobra.Command, args []string) error {
		cmd.Println("waiting")
		<-cmd.Context().Done()
		switch {
		case len(args) == 0:
			return fmt.Errorf("wait: %w", cmd.Context().Err())
		case args[0] == "stubborn":
			cmd.Println("ignored")
			select {}
		}
		return nil
	}}
	root.AddCommand(node, fail, wait)
	root.SetArgs(p.Args)
	return root
}

func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	s, _, o, e := iostreams.Test()
	code = app.Run(t.Context(), app.Process{Args: args, Streams: s}, program)
	return code, o.String(), e.String()
}

func TestErrorsSetTheExitCodeAndPrintOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		code int
		errs string
	}{
		{"node list", 0, ""},
		{"fail none", 0, ""},
		{"fail plain", 1, "Error: disk on fire\n"},
		{"fail missing", 2, "Error: open: web: object not found\n"},
		{"fail many", 2, "Error: n1: down\n       n2: down\n       n3: gone\n"},
		{"fail code", 3, "Error: partly done\n"},
		{"fail silent", 4, ""},
		{"fail said", 1, "Error: n2: not\n"},
		{"fail over", 130, ""},
		{"fail partly", 1, "Error: n2: down\n"},
		{"fail usage", 1, "Error: --to \"x\": not a date\n"},
		{"nod", 1, "Error: unknown command \"nod\" of prog, did you mean node?; prog --help lists them\n"},
		{"node lits", 1, "Error: unknown command \"lits\" of prog node, did you mean list?; prog node --help lists them\n"},
		{"node zzzzz", 1, "Error: unknown command \"zzzzz\" of prog node; prog node --help lists them\n"},
		{"node secre", 1, "Error: unknown command \"secre\" of prog node; prog node --help lists them\n"},
		{"help node lits", 1, "Error: unknown command \"lits\" of prog node, did you mean list?; prog node --help lists them\n"},
		{"node list --wiat", 1, "Error: unknown flag --wiat of prog node list, did you mean --wait?; prog node list --help lists them\n"},
		{"node list -x", 1, "Error: unknown flag -x of prog node list; prog node list --help lists them\n"},
		{"node --wait", 1, "Error: unknown flag --wait of prog node; prog node --help lists them\n"},
		{"node list --wait=maybe", 1, "Error: invalid argument \"maybe\" for \"-w, --wait\" flag: must be true or false; see prog node list --help\n"},
		{"--debgu node list", 1, "Error: unknown flag --debgu of prog, did you mean --debug?; prog --help lists them\n"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			code, out, errs := run(t, strings.Fields(c.args)...)

			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if diff := cmp.Diff(c.errs, errs); diff != "" {
				t.Error(diff)
			}
			if c.code != 0 && out != "" {
				t.Errorf("printed %q", out)
			}
		})
	}
}

func TestAnErrorNeitherMovesTheCursorNorColoursTheTerminal(t *testing.T) {
	t.Parallel()
	tree := func(app.Process) *cobra.Command {
		return &cobra.Command{Use: "prog", RunE: func(*cobra.Command, []string) error { return errors.New("a\x1b[2Jb\rc\td\ne\u009b") }}
	}
	s, _, _, errs := iostreams.Test()

	app.Run(t.Context(), app.Process{Streams: s}, tree)

	if want := "Error: a\ufffd[2Jb\ufffdc\td\n       e\ufffd\n"; errs.String() != want {
		t.Errorf("%q, want %q", errs, want)
	}
}

func TestACancelledCommandExitsAsInterrupted(t *testing.T) {
	t.Parallel()
	s, _, _, errs := iostreams.Test()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	code := app.Run(ctx, app.Process{Args: []string{"wait"}, Streams: s}, program)

	if code != 130 || errs.String() != "Error: wait: interrupted\n" {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

func TestACommandTheUserEndsHasNothingToSay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	if err := app.Ended(ctx); err != nil {
		t.Errorf("it lasts, and %v", err)
	}
	cancel()
	tree := func(app.Process) *cobra.Command {
		return &cobra.Command{Use: "prog", RunE: func(cmd *cobra.Command, _ []string) error { return app.Ended(cmd.Context()) }}
	}
	s, _, _, errs := iostreams.Test()

	if code := app.Run(ctx, app.Process{Streams: s}, tree); code != 130 || errs.String() != "" {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	group := `Act on nodes

Usage:
  prog node <command> [flags]

Commands:
  list   List nodes

Flags:
  -h, --help   help for node

Global flags:
      --debug   say more

prog node <command> --help tells more about a command.
`
	list := `List nodes

Usage:
  prog node list [flags]

Aliases:
  list, ls

Examples:
  prog node list --wait

Flags:
      --format formats   one of the formats (default table)
  -h, --help             help for list
  -w, --wait             wait for all of them

Global flags:
      --debug   say more
`
	for args, want := range map[string]string{
		"node": group, "node --help": group, "help node": group,
		"node list --help": list, "help node ls": list,
		"--version": "prog version v1\n",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			code, out, errs := run(t, strings.Fields(args)...)

			if diff := cmp.Diff(want, out); code != 0 || errs != "" || diff != "" {
				t.Errorf("exit code %d, %q\n%s", code, errs, diff)
			}
		})
	}
}

func TestHelpListsCommandsByGroup(t *testing.T) {
	t.Parallel()
	grouped := func(p app.Process) *cobra.Command {
		root := program(p)
		root.AddGroup(&cobra.Group{ID: "do", Title: "Actions:"})
		root.AddCommand(&cobra.Command{Use: "start", Short: "Start it", GroupID: "do", Run: func(*cobra.Command, []string) {}})
		return root
	}
	s, _, out, _ := iostreams.Test()

	code := app.Run(t.Context(), app.Process{Args: []string{}, Streams: s}, grouped)

	text := out.String()
	if code != 0 || !strings.Contains(text, "\nActions:\n  start        Start it\n\nCommands:\n") || strings.Count(text, "  start") != 1 {
		t.Errorf("exit code %d\n%s", code, text)
	}
}

func TestAGroupWithAnActionOfItsOwnKeepsIt(t *testing.T) {
	t.Parallel()
	tree := func(p app.Process) *cobra.Command {
		root := &cobra.Command{Use: "prog", RunE: func(cmd *cobra.Command, _ []string) error { return app.Silent(7) }}
		root.AddCommand(&cobra.Command{Use: "sub", Run: func(*cobra.Command, []string) {}})
		root.SetArgs(p.Args)
		return root
	}
	s, _, _, _ := iostreams.Test()

	if code := app.Run(t.Context(), app.Process{Args: []string{}, Streams: s}, tree); code != 7 {
		t.Errorf("exit code %d", code)
	}
}

func TestAProgramWithoutCommandsRefusesThem(t *testing.T) {
	t.Parallel()
	tree := func(p app.Process) *cobra.Command {
		root := &cobra.Command{Use: "prog", Args: app.NoCommands, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
		root.SetArgs(p.Args)
		return root
	}
	for want, args := range map[int][]string{0: {}, 1: {"serve"}} {
		s, _, _, errs := iostreams.Test()
		if code := app.Run(t.Context(), app.Process{Args: args, Streams: s}, tree); code != want {
			t.Errorf("%q: exit code %d, %s", args, code, errs)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"start", "stop", "status", "provision", "unprovision", "ls", "freeze"}
	for word, want := range map[string]string{
		"sttart": "start", "sotp": "stop", "STATUS": "status", "prov": "provision", "unprovison": "unprovision", "l": "ls",
		"freez": "freeze", "sl": "ls", "xyzzy": "", "": "", "q": "",
	} {
		if got, ok := app.Nearest(word, names); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// start runs this binary as the program, its output to be had from said.
func start(t *testing.T, onLine func(string), args ...string) error {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, err = host.NewRunner().Run(t.Context(), host.Cmd{
		Argv:   append([]string{"/bin/sh", "-c", `echo $$; exec "$0" "$@"`, self}, args...),
		Env:    append(os.Environ(), "APP_TEST_PROGRAM=1"),
		OnLine: func(_ bool, line string) { onLine(line) },
	})
	return err
}

func TestSignals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args    []string
		signals []string // by the line that triggers them
		code    int
		said    string
	}{
		"the first ends the command":                        {[]string{"wait"}, []string{"waiting INT"}, 130, "Error: wait: interrupted"},
		"TERM does too":                                     {[]string{"wait"}, []string{"waiting TERM"}, 130, "Error: wait: interrupted"},
		"a command that ends well then exits with 0":        {[]string{"wait", "well"}, []string{"waiting TERM"}, 0, "waiting"},
		"the second ends the program, whatever it is doing": {[]string{"wait", "stubborn"}, []string{"waiting INT", "ignored INT"}, 130, "ignored"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pid, last := "", ""
			err := start(t, func(line string) {
				if pid == "" {
					pid = line
				}
				last = line
				for _, s := range c.signals {
					if word, signal, _ := strings.Cut(s, " "); word == line {
						if _, err := host.NewRunner().Run(t.Context(), host.Cmd{Argv: []string{"kill", "-" + signal, pid}}); err != nil {
							t.Error(err)
						}
					}
				}
			}, c.args...)

			code := 0
			if exit, ok := errors.AsType[*host.ExitError](err); ok {
				code = exit.Code
			}
			if code != c.code || last != c.said {
				t.Errorf("exit code %d, last said %q, %v", code, last, err)
			}
		})
	}
}

func TestTheProcessIsPassedDown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer

	err := start(t, func(line string) { out.WriteString(line + "\n") }, "node", "list")

	if err != nil || !strings.HasSuffix(out.String(), "\nn1\n") {
		t.Errorf("%q, %v", &out, err)
	}
}

func TestOutputThatIsLostIsAFailure(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full: ", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const lost = "Error: the output is not complete: write /dev/stdout: no space left on device\n"
	for args, want := range map[string]struct {
		code int
		errs string
	}{
		"--help":      {1, lost},
		"--version":   {1, "Error: write /dev/stdout: no space left on device\n"},
		"help node":   {1, lost},
		"node":        {1, lost},
		"node list":   {1, lost},
		"wait --help": {1, lost},
		"fail none":   {0, ""}, // it has nothing to print
		"fail code":   {3, "Error: partly done\n"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			var errs strings.Builder
			_, err := host.NewRunner().Run(t.Context(), host.Cmd{
				Argv:   append([]string{"/bin/sh", "-c", `exec "$0" "$@" >/dev/full`, self}, strings.Fields(args)...),
				Env:    append(os.Environ(), "APP_TEST_PROGRAM=1"),
				OnLine: func(_ bool, line string) { errs.WriteString(line + "\n") },
			})

			code := 0
			if exit, ok := errors.AsType[*host.ExitError](err); ok {
				code = exit.Code
			}
			if code != want.code || errs.String() != want.errs {
				t.Errorf("exit code %d, %q, %v", code, errs.String(), err)
			}
		})
	}
}
