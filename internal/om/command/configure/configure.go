// Package configure declares the commands on configurations, the same for
// objects, the node and the cluster: show, get, eval, update, edit, validate,
// doc and mtime.
package configure

import (
	"context"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Target returns the configurations a command is about. The zero path is the
// configuration of the node.
type Target func(ctx context.Context, c *verb.Call) ([]object.Path, error)

// File is a configuration file.
type File struct {
	Data    []byte
	ModTime time.Time
}

// Reader reads configurations.
type Reader interface {
	// ConfigFile returns the file, byte for byte.
	ConfigFile(ctx context.Context, p object.Path) (File, error)
	// ConfigValues returns keywords, all that are set when none is named;
	// evaluated for a node when asked for, this one when as is empty.
	ConfigValues(ctx context.Context, p object.Path, q api.ConfigQuery) ([]api.KeywordItem, error)
}

// Writer changes configurations.
type Writer interface {
	// ChangeConfig applies a change in one transaction.
	ChangeConfig(ctx context.Context, p object.Path, change Change) (Outcome, error)
}

// Change is one transaction: deletions, then unsets, then sets.
type Change struct {
	Delete, Unset, Set []string
	Wait               time.Duration // for the nodes of the object to have it; 0: do not
	WaitLock           time.Duration // for the lock of the configuration
}

// Outcome tells what a transaction did.
type Outcome struct {
	Changed  bool
	Warnings []keyword.Alert
}

// Validator checks configurations as they are.
type Validator interface {
	ValidateConfig(ctx context.Context, p object.Path) ([]keyword.Alert, error)
}

// Documenter explains keywords.
type Documenter interface {
	ConfigDoc(ctx context.Context, p object.Path, q keyword.Query) (string, error)
}

// Editor lets the user edit a configuration.
type Editor interface {
	// EditConfig opens the configuration, or the draft an earlier edit left.
	EditConfig(ctx context.Context, c *verb.Call, p object.Path, recovered bool) (Outcome, error)
	// DiscardEdit drops the draft.
	DiscardEdit(ctx context.Context, p object.Path) error
}

// Verbs returns the commands on the configurations of a target.
func Verbs(target Target) []verb.Verb {
	const group = "configuration"
	return []verb.Verb{
		{
			Path: "config show", Also: []string{"print config"}, Group: group,
			Short: "Print the configuration file",
			New:   verb.Needs(func(r Reader) verb.Runner { return &show{target: target, reader: r} }),
		},
		{
			Path: "config get", Also: []string{"get"}, Group: group,
			Short:   "Print keywords as they are written",
			Example: "om web config get --kw app#1.start --kw orchestrate\nom node config get --kw node.env",
			New:     verb.Needs(func(r Reader) verb.Runner { return &get{target: target, reader: r} }),
		},
		{
			Path: "config eval", Also: []string{"eval"}, Group: group,
			Short:   "Print keywords as this node evaluates them",
			Long:    "Print keywords with defaults applied, scopes chosen for this node or another one, and references replaced.",
			Example: "om web config eval --kw fs#1.mnt\nom web config eval --kw env.port --impersonate node2",
			New:     verb.Needs(func(r Reader) verb.Runner { return &get{target: target, reader: r, evaluate: true} }),
		},
		{
			Path: "config update", Group: group,
			Short: "Change the configuration in one transaction",
			Long: "Delete sections, unset keywords and set keywords, in this order and in one transaction: the batch is validated and committed once, or refused as a whole.\n\n" +
				"Operations are = (set), += (append), |= (append unless there), -= (remove), ^= (toggle) and [n]= (insert).",
			Example: "om web config update --set app#1.start=/srv/bin/start --unset env.old --delete fs#2",
			New:     verb.Needs(func(w Writer) verb.Runner { return &update{target: target, writer: w} }),
		},
		{
			Path: "config set", Also: []string{"set"}, Group: group, Hidden: true,
			Short: "Set keywords",
			New:   verb.Needs(func(w Writer) verb.Runner { return &set{update: update{target: target, writer: w}} }),
		},
		{
			Path: "config unset", Also: []string{"unset"}, Group: group, Hidden: true,
			Short: "Unset keywords",
			New:   verb.Needs(func(w Writer) verb.Runner { return &unset{update: update{target: target, writer: w}} }),
		},
		{
			Path: "config edit", Also: []string{"edit config", "edit"}, Aliases: []string{"ed"}, Group: group,
			Short: "Edit the configuration with $EDITOR",
			Long:  "Open the configuration in $VISUAL or $EDITOR and commit it if it is valid. If it is not, what was typed is kept: --recover opens it again, --discard drops it.",
			New:   verb.Needs(func(e Editor) verb.Runner { return &edit{target: target, editor: e} }),
		},
		{
			Path: "config validate", Also: []string{"validate config", "validate"}, Aliases: []string{"val", "valid"}, Group: group,
			Short: "Check the configuration, fail on errors",
			New:   verb.Needs(func(v Validator) verb.Runner { return &validate{target: target, validator: v} }),
		},
		{
			Path: "config doc", Also: []string{"doc"}, Group: group,
			Short:   "Explain the keywords",
			Example: "om web config doc --kw orchestrate\nom web config doc --driver app.simple",
			New:     verb.Needs(func(d Documenter) verb.Runner { return &doc{target: target, documenter: d} }),
		},
		{
			Path: "config mtime", Also: []string{"print config mtime"}, Aliases: []string{"mtim", "mti", "mt", "m"}, Group: group,
			Short: "Print when the configuration was last modified",
			New:   verb.Needs(func(r Reader) verb.Runner { return &mtime{target: target, reader: r} }),
		},
	}
}

// Doc explains the keywords of services, before there is one.
var Doc = verb.Verb{
	Path: "config doc", Group: "configuration",
	Short:   "Explain the keywords of services",
	Example: "om config doc --kw orchestrate\nom config doc --driver app.simple",
	New:     verb.Needs(func(d Documenter) verb.Runner { return &doc{target: anyService, documenter: d} }),
}

func anyService(context.Context, *verb.Call) ([]object.Path, error) {
	return []object.Path{{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "any"}}, nil
}
