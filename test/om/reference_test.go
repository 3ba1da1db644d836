package om_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/command"
	"github.com/holdfast-ops/holdfast/internal/om/command/local"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/om/tui"
)

var update = flag.Bool("update", false, "rewrite the reference pages and the expectations of the scripts")

const reference = "../../docs/reference"

func TestTheReferenceOfTheCommandsIsWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"om", "ox"} {
		pages := map[string]string{}
		root := whole(program)
		pages["README.md"] = commandPage(root, false)
		for _, cmd := range root.Commands() {
			// The kinds have the verbs of all, those that apply to them.
			if _, err := object.ParseKind(cmd.Name()); err != nil && cmd.IsAvailableCommand() && cmd.HasAvailableSubCommands() {
				pages[cmd.Name()+".md"] = commandPage(cmd, true)
			}
		}
		comparePages(t, filepath.Join(reference, program), pages)
	}
}

func TestTheReferenceOfTheKeywordsIsWhatTheyAre(t *testing.T) {
	t.Parallel()
	schemas := map[string]*keyword.Schema{"node": schema.Node(), "cluster": schema.Cluster()}
	for _, kind := range object.Kinds() {
		if kind != object.KindCcfg {
			schemas[string(kind)] = schema.Object(kind, all.Registry().Sections(kind))
		}
	}
	for name, s := range schemas {
		pages := map[string]string{}
		var list strings.Builder
		fmt.Fprintf(&list, "# Keywords of %s\n\n", name)
		for _, p := range s.Pages() {
			pages[p.Name+".md"] = strings.TrimRight(p.Markdown, "\n") + "\n"
			fmt.Fprintf(&list, "* [%s](%s.md)\n", p.Title, p.Name)
		}
		pages["README.md"] = list.String()
		comparePages(t, filepath.Join(reference, "keywords", name), pages)
	}
}

// whole is a program with every command and every flag.
func whole(program string) *cobra.Command {
	streams, _, _, _ := iostreams.Test()
	p := app.Process{Streams: streams, Env: func(string) string { return "" }, Hostname: "node1", Version: "reference"}
	tree := command.New("ox", "Manage a cluster from elsewhere", remote.New(p), tui.Verb)
	if program == "om" {
		backend := local.New(local.Options{Process: p, Registry: all.Registry, Serve: serve})
		tree = command.New("om", "Run and watch services on this node and its cluster", backend, local.Exec())
	}
	root := tree.Whole(p)
	app.Prepare(root)
	return root
}

// commandPage is the page of a command and, below, of what it gathers.
func commandPage(cmd *cobra.Command, below bool) string {
	var b bytes.Buffer
	writeCommand(&b, cmd, 1, below)
	return b.String()
}

func writeCommand(b *bytes.Buffer, cmd *cobra.Command, depth int, below bool) {
	title := strings.Replace(cmd.CommandPath(), " all", " <selector>", 1)
	fmt.Fprintf(b, "%s %s\n\n", strings.Repeat("#", min(depth, 4)), title)
	var help bytes.Buffer
	cmd.SetOut(&help)
	if err := cmd.Help(); err != nil {
		fmt.Fprintf(&help, "%v", err)
	}
	text, _, _ := strings.Cut(help.String(), "\nGlobal flags:")
	if !cmd.HasParent() {
		text = help.String()
	}
	fmt.Fprintf(b, "```text\n%s\n```\n", strings.TrimSpace(text))
	if !below {
		return
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			b.WriteString("\n")
			writeCommand(b, sub, depth+1, true)
		}
	}
}

// comparePages compares a folder with what it should hold, or rewrites it.
func comparePages(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if *update {
		rewrite(t, dir, want)
	}
	have := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		have[filepath.Base(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s is not up to date: run make docs\n%s", dir, diff)
	}
}

func rewrite(t *testing.T, dir string, pages map[string]string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryVerbIsTheSameInBothPrograms(t *testing.T) {
	t.Parallel()
	ours := paths(whole("om"))
	for name, flags := range paths(whole("ox")) {
		if strings.HasPrefix(name, "ox context") || strings.HasSuffix(name, " tui") {
			continue // of a client, which om is not
		}
		if diff := cmp.Diff(ours["om"+strings.TrimPrefix(name, "ox")], flags); diff != "" {
			t.Errorf("%s has other flags in om:\n%s", name, diff)
		}
	}
}

// paths returns the flags of every command by its path.
func paths(root *cobra.Command) map[string][]string {
	all := map[string][]string{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		var flags []string
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		slices.Sort(flags)
		all[cmd.CommandPath()] = flags
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return all
}
