// Package contexts declares the commands on what a client knows of clusters: the
// clusters, the users, the contexts that name one of each, and their logins.
package contexts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/station"
)

// Keeper is a backend with contexts.
type Keeper interface {
	Station() station.Station
	// Current names the context in force, "" when there is none.
	Current() string
	// Endpoint resolves a context.
	Endpoint(name string) (station.Endpoint, error)
}

// Verbs returns the commands.
func Verbs() []verb.Verb {
	verbs := []verb.Verb{
		{
			Path: "list", Aliases: []string{"ls"}, Group: "contexts",
			Short: "List the contexts and the state of their logins",
			New:   verb.Does(list),
		},
		{
			Path: "show", Group: "contexts",
			Short: "Show the context in force: its server, user and namespace",
			New:   verb.Does(show),
		},
	}
	for _, e := range []entry{
		{
			part: contextPart, add: "Add a context: a cluster to talk to and a user to talk as", remove: "Remove a context and its login",
			example: "ox context add --name john@dreamy-leopard --cluster dreamy-leopard --user john\nox context add --name prod --cluster prod --user alice --namespace myapp --refresh-token-duration 1d",
			put:     func(k Keeper, change bool) verb.Runner { return &contextVerb{keeper: k, change: change} },
		},
		{
			part: clusterPart, add: "Add a cluster: the address of a listener, and whom to trust", remove: "Remove a cluster",
			example: "ox context cluster add --name dreamy-leopard --server https://dreamy-leopard.example.com:1215 --certificate-authority ca.pem",
			put:     func(k Keeper, change bool) verb.Runner { return &clusterVerb{keeper: k, change: change} },
		},
		{
			part: userPart, add: "Add a user, who logs in or shows a certificate", remove: "Remove a user",
			example: "ox context user add --name john\nox context user add --name alice --username alice --client-certificate alice.crt --client-key alice.key",
			put:     func(k Keeper, change bool) verb.Runner { return &userVerb{keeper: k, change: change} },
		},
	} {
		verbs = append(verbs, e.verbs()...)
	}
	return append(verbs, edits, login, logout)
}

// entry is a kind of entry of the file, as commands add, change and remove it.
type entry struct {
	part                 string
	add, remove, example string // what the help says
	put                  func(k Keeper, change bool) verb.Runner
}

func (e entry) verbs() []verb.Verb {
	group := e.part + "s"
	return []verb.Verb{
		{
			Path: words(e.part) + "add", Group: group, Short: e.add, Example: e.example,
			New: verb.Needs(func(k Keeper) verb.Runner { return e.put(k, false) }),
		},
		{
			Path: words(e.part) + "change", Group: group, Short: "Change a " + e.part + ": what is not given stays",
			New: verb.Needs(func(k Keeper) verb.Runner { return e.put(k, true) }),
		},
		{
			Path: words(e.part) + "remove", Aliases: []string{"rm"}, Group: group, Short: e.remove,
			New: verb.Needs(func(k Keeper) verb.Runner { return &remove{keeper: k, what: e.part} }),
		},
	}
}

// row is a context as it is listed.
type row struct {
	Name            string    `json:"name"`
	Authenticated   bool      `json:"authenticated"`
	AccessExpire    time.Time `json:"access_expire,omitzero"`
	RefreshExpire   time.Time `json:"refresh_expire,omitzero"`
	AuthenticatedAt time.Time `json:"authenticated_at,omitzero"`
}

func list(_ context.Context, k Keeper, c *verb.Call) error {
	f, err := k.Station().Load()
	if err != nil {
		return err
	}
	now := time.Now()
	rows := []row{}
	for _, name := range f.Names() {
		e, err := f.Resolve(name)
		if err != nil {
			return err
		}
		t, err := k.Station().Tokens(name)
		if err != nil {
			c.Say("Warning: context %s: %s", name, err)
		}
		rows = append(rows, row{
			Name: name, Authenticated: e.Certified() || t.Fresh(now) || t.Renewable(now),
			AccessExpire: t.AccessEnd, RefreshExpire: t.RefreshEnd, AuthenticatedAt: t.AuthenticatedAt,
		})
	}
	return verb.Write(c, []output.Column[row]{
		{Name: "NAME", Value: func(r row) any { return r.Name }},
		{Name: "AUTHENTICATED", Value: func(r row) any { return r.Authenticated }},
		{Name: "ACCESS_EXPIRE", Value: func(r row) any { return at(r.AccessExpire) }},
		{Name: "REFRESH_EXPIRE", Value: func(r row) any { return at(r.RefreshExpire) }},
		{Name: "AUTHENTICATED_AT", Value: func(r row) any { return at(r.AuthenticatedAt) }},
	}, rows, rows)
}

func at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.RFC3339)
}

// resolved is the context in force.
type resolved struct {
	Name      string `json:"name"`
	Server    string `json:"server"`
	User      string `json:"user"`
	Namespace string `json:"namespace"`
}

func show(_ context.Context, k Keeper, c *verb.Call) error {
	e, err := k.Endpoint(k.Current())
	if err != nil {
		return err
	}
	rows := []resolved{{e.Context, e.Cluster.Server, e.Login(), e.Settings.Namespace}}
	return verb.Write(c, []output.Column[resolved]{
		{Name: "NAME", Value: func(r resolved) any { return r.Name }},
		{Name: "SERVER", Value: func(r resolved) any { return r.Server }},
		{Name: "USER", Value: func(r resolved) any { return r.User }},
		{Name: "NAMESPACE", Value: func(r resolved) any { return dash(r.Namespace) }},
	}, rows, rows)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// put adds an entry, or changes one: set copies what was given.
func put[V any](entries map[string]V, kind, name string, change bool, set func(*V)) error {
	value, there := entries[name]
	switch {
	case there && !change:
		return fmt.Errorf("%s %s exists: change it with: ox context %schange --name %s", kind, name, words(kind), name)
	case !there && change:
		return notThere(kind, name, entries)
	}
	set(&value)
	entries[name] = value
	return nil
}

func notThere[V any](kind, name string, entries map[string]V) error {
	if len(entries) == 0 {
		return fmt.Errorf("%s %s does not exist: there is none", kind, name)
	}
	return fmt.Errorf("%s %s does not exist: there are %s", kind, name, strings.Join(slices.Sorted(maps.Keys(entries)), ", "))
}

// words are those of the commands on a kind of entry.
func words(kind string) string {
	if kind == contextPart {
		return ""
	}
	return kind + " "
}

// What the file is made of.
const (
	contextPart = "context"
	clusterPart = "cluster"
	userPart    = "user"
)

func named(name string) error {
	if name == "" {
		return app.Usage("say which: --name NAME")
	}
	return nil
}

// given copies the value of a flag that was typed.
func given[V any](f *pflag.FlagSet, flag string, to *V, value V) {
	if f.Changed(flag) {
		*to = value
	}
}

// contextVerb adds or changes a context.
type contextVerb struct {
	keeper Keeper
	change bool
	flags  *pflag.FlagSet
	name   string
	any    bool
	value  station.Context
}

func (v *contextVerb) Flags(f *pflag.FlagSet) {
	v.flags = f
	f.StringVar(&v.name, "name", "", "`name` of the context")
	f.StringVar(&v.value.Cluster, "cluster", "", "`name` of the cluster to talk to")
	f.StringVar(&v.value.User, "user", "", "`name` of the user to talk as")
	f.StringVar(&v.value.Namespace, "namespace", "", "restrict the session to this `namespace`")
	if v.change {
		f.BoolVar(&v.any, "any-namespace", false, "restrict the session to no namespace any more")
	}
	f.Var(&v.value.AccessTokenDuration, "access-token-duration", "how long an access token is valid, as 1h")
	f.Var(&v.value.RefreshTokenDuration, "refresh-token-duration", "how long the session may be renewed without the password, as 1d12h")
}

func (v *contextVerb) Run(ctx context.Context, _ *verb.Call) error {
	if err := named(v.name); err != nil {
		return err
	}
	if v.any && v.value.Namespace != "" {
		return app.Usage("--namespace and --any-namespace exclude each other")
	}
	return v.keeper.Station().Update(ctx, func(f *station.File) error {
		return put(f.Contexts, contextPart, v.name, v.change, func(c *station.Context) {
			given(v.flags, "cluster", &c.Cluster, v.value.Cluster)
			given(v.flags, "user", &c.User, v.value.User)
			given(v.flags, "namespace", &c.Namespace, v.value.Namespace)
			if v.any {
				c.Namespace = ""
			}
			given(v.flags, "access-token-duration", &c.AccessTokenDuration, v.value.AccessTokenDuration)
			given(v.flags, "refresh-token-duration", &c.RefreshTokenDuration, v.value.RefreshTokenDuration)
		})
	})
}

// clusterVerb adds or changes a cluster.
type clusterVerb struct {
	keeper Keeper
	change bool
	flags  *pflag.FlagSet
	name   string
	value  station.Cluster
}

func (v *clusterVerb) Flags(f *pflag.FlagSet) {
	v.flags = f
	f.StringVar(&v.name, "name", "", "`name` of the cluster")
	// Where they are those of every command already, they say the same here.
	if f.Lookup("server") == nil {
		f.String("server", "", "`address` of a listener: host, host:port or https://host:port")
	}
	if f.Lookup("insecure") == nil {
		f.Bool("insecure", false, "do not verify the certificate of the server")
	}
	f.StringVar(&v.value.CertificateAuthority, "certificate-authority", "", "`file` of the certificates of the authorities to trust, in place of those of this host")
}

func (v *clusterVerb) Run(ctx context.Context, c *verb.Call) (err error) {
	if err := named(v.name); err != nil {
		return err
	}
	if err := absolute(&v.value.CertificateAuthority); err != nil {
		return err
	}
	if v.value.Server, err = v.flags.GetString("server"); err != nil {
		return err
	}
	if v.value.Insecure, err = v.flags.GetBool("insecure"); err != nil {
		return err
	}
	if v.value.Insecure {
		c.Say("Warning: whoever is in between may read and change what is exchanged with cluster %s", v.name)
	}
	return v.keeper.Station().Update(ctx, func(f *station.File) error {
		return put(f.Clusters, clusterPart, v.name, v.change, func(s *station.Cluster) {
			given(v.flags, "server", &s.Server, v.value.Server)
			given(v.flags, "certificate-authority", &s.CertificateAuthority, v.value.CertificateAuthority)
			given(v.flags, "insecure", &s.Insecure, v.value.Insecure)
		})
	})
}

// userVerb adds or changes a user.
type userVerb struct {
	keeper Keeper
	change bool
	flags  *pflag.FlagSet
	name   string
	value  station.User
}

func (v *userVerb) Flags(f *pflag.FlagSet) {
	v.flags = f
	f.StringVar(&v.name, "name", "", "`name` of the definition")
	f.StringVar(&v.value.Name, "username", "", "`name` of the user on the cluster, that of the definition by default")
	f.StringVar(&v.value.ClientCertificate, "client-certificate", "", "`file` of the certificate the user shows, in place of a login")
	f.StringVar(&v.value.ClientKey, "client-key", "", "`file` of its key")
}

func (v *userVerb) Run(ctx context.Context, _ *verb.Call) error {
	if err := errors.Join(named(v.name), absolute(&v.value.ClientCertificate), absolute(&v.value.ClientKey)); err != nil {
		return err
	}
	return v.keeper.Station().Update(ctx, func(f *station.File) error {
		return put(f.Users, userPart, v.name, v.change, func(u *station.User) {
			given(v.flags, "username", &u.Name, v.value.Name)
			given(v.flags, "client-certificate", &u.ClientCertificate, v.value.ClientCertificate)
			given(v.flags, "client-key", &u.ClientKey, v.value.ClientKey)
		})
	})
}

// absolute makes the name of a file independent of the folder the command runs in.
func absolute(file *string) (err error) {
	if *file == "" || strings.HasPrefix(*file, "~/") {
		return nil
	}
	*file, err = filepath.Abs(*file)
	return err
}

// remove removes an entry.
type remove struct {
	keeper Keeper
	what   string
	name   string
	force  bool
}

func (r *remove) Flags(f *pflag.FlagSet) {
	f.StringVar(&r.name, "name", "", "`name` of the "+r.what)
	if r.what != contextPart {
		f.BoolVar(&r.force, "force", false, "remove the contexts that use it too")
	}
}

func (r *remove) Run(ctx context.Context, c *verb.Call) error {
	if err := named(r.name); err != nil {
		return err
	}
	var gone []string // contexts
	err := r.keeper.Station().Update(ctx, func(f *station.File) (err error) {
		gone, err = r.drop(f)
		return err
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range gone {
		if r.what != contextPart {
			c.Say("context %s is removed too", name)
		}
		_, err := r.keeper.Station().Forget(ctx, name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// drop removes the entry, and returns the contexts that go with it.
func (r *remove) drop(f *station.File) (contexts []string, err error) {
	uses := func(station.Context) bool { return false }
	var there bool
	switch r.what {
	case clusterPart:
		_, there = f.Clusters[r.name]
		err = notThere(r.what, r.name, f.Clusters)
		delete(f.Clusters, r.name)
		uses = func(c station.Context) bool { return c.Cluster == r.name }
	case userPart:
		_, there = f.Users[r.name]
		err = notThere(r.what, r.name, f.Users)
		delete(f.Users, r.name)
		uses = func(c station.Context) bool { return c.User == r.name }
	default:
		if _, there = f.Contexts[r.name]; there {
			contexts = []string{r.name}
		}
		err = notThere(r.what, r.name, f.Contexts)
	}
	if !there {
		return nil, err
	}
	for _, name := range f.Names() {
		if uses(f.Contexts[name]) {
			contexts = append(contexts, name)
		}
	}
	if r.what != contextPart && len(contexts) > 0 && !r.force {
		return nil, fmt.Errorf("%s %s is used by context %s: remove it first, or give --force to remove both", r.what, r.name, strings.Join(contexts, ", "))
	}
	for _, name := range contexts {
		delete(f.Contexts, name)
	}
	return contexts, nil
}
