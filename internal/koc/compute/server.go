package compute

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// serverCommands are the commands about servers.
func serverCommands() []command.Entry {
	return slices.Concat(
		[]command.Entry{
			{Name: "server create", Build: serverCreate},
			{Name: "server delete", Build: serverDelete},
			{Name: "server list", Build: serverList},
			{Name: "server set", Build: serverSet},
			{Name: "server show", Build: serverShow},
			{Name: "server unset", Build: serverUnset},
			{Name: "server ssh", Build: serverSSH},
			{Name: "server password show", Build: serverPasswordShow},
		},
		serverStateCommands(),
		serverMoveCommands(),
		serverAttachCommands(),
		serverMigrationCommands(),
		serverGroupCommands(),
		serverEventCommands(),
		serverImageCommands(),
		serverVolumeCommands(),
		serverShareCommands(),
	)
}

// serverArg is the argument of the commands about one server.
func serverArg(verb string) command.Arg {
	return noun.Server().Ref("<server>", verb)
}

// serverArgs is the argument of the commands about many servers.
func serverArgs(verb string) command.Arg {
	return command.Arg{Name: "<server>", Help: "The servers to " + verb + ", by name or id", Many: true, Complete: "server"}
}

// servers is the compute service as one run of a command uses it.
type servers struct {
	cloud.Service
	c *command.Call
}

// openServers opens the compute service. The openstack client asks it for 2.1
// where it uses its older library; negotiated is what its newer one asks for,
// "" where the command uses the older one.
func openServers(ctx context.Context, c *command.Call, negotiated string) (*servers, error) {
	s, err := c.Cloud.Service(ctx, "compute")
	if err != nil {
		return nil, err
	}
	if negotiated != "" && c.Compat() {
		s = s.Default(negotiated)
	}
	return &servers{s, c}, nil
}

// atLeast reports whether the microversion of the requests is this one or later.
func (s *servers) atLeast(version string) bool {
	return s.Microversion == "latest" || !olderVersion(s.Microversion, version)
}

// needs makes sure of the microversion that a flag is new in. Where nobody asked
// for an older one it is raised.
func (s *servers) needs(version, what string) error {
	switch {
	case s.atLeast(version):
		return nil
	case !s.Pinned() && !s.c.Compat():
		s.Service = s.Default(version)
		return nil
	}
	return fmt.Errorf("%s requires compute API microversion %s or later (--os-compute-api-version)", what, version)
}

// needsGiven is needs for a flag, when it was given.
func (s *servers) needsGiven(version, flag string) error {
	if !s.c.Given(flag) {
		return nil
	}
	return s.needs(version, "--"+flag)
}

// until makes sure that the microversion is not later than the last one that
// knows a flag.
func (s *servers) until(version, what string) error {
	switch {
	case s.Microversion != "latest" && !olderVersion(version, s.Microversion):
		return nil
	case !s.Pinned() && !s.c.Compat():
		s.Service = s.Default(version)
		return nil
	}
	return fmt.Errorf("%s requires compute API microversion %s or earlier (--os-compute-api-version)", what, version)
}

// olderVersion compares microversions; none is 2.1.
func olderVersion(a, b string) bool {
	minor := func(v string) int {
		_, m, _ := strings.Cut(v, ".")
		n, err := strconv.Atoi(m)
		if err != nil {
			return 1
		}
		return n
	}
	return minor(a) < minor(b)
}

// ask sends a request and returns the object that answers it, nil when there is none.
func (s *servers) ask(ctx context.Context, r cloud.Request) (noun.Object, error) {
	var o noun.Object
	r.Into = &o
	err := s.Do(ctx, r)
	return o, err
}

// tell sends a request whose answer does not matter.
func (s *servers) tell(ctx context.Context, method, path string, body noun.Object) error {
	r := cloud.Request{Method: method, Path: path}
	if body != nil {
		r.Body = body
	}
	return s.Do(ctx, r)
}

// post is the request that creates a thing.
func (s *servers) post(path, key string, body noun.Object) cloud.Request {
	return cloud.Request{Method: http.MethodPost, Path: path, Body: noun.Object{{Name: key, Value: render.Ordered(body)}}}
}

// serverPath is the path of a server, or of something below it.
func serverPath(id string, below ...string) string {
	var b strings.Builder
	b.WriteString("/servers/" + url.PathEscape(id))
	for _, part := range below {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

// get fetches one server.
func (s *servers) get(ctx context.Context, id string) (noun.Object, error) {
	o, err := s.ask(ctx, cloud.Request{Path: serverPath(id)})
	if err != nil {
		return nil, err
	}
	return o.Object("server"), nil
}

// find returns the server that a reference means. Of one that is found by its
// name no more is known than that and the id.
//
// Names are looked up in the project of the token. Where nothing of a stranger
// can be lost, and none has the name there, our own voice also looks in those an
// administrator sees.
func (s *servers) find(ctx context.Context, ref string) (noun.Object, error) {
	o, err := s.findIn(ctx, ref, false)
	if s.c.Compat() || !noun.IsNotFound(err) || noun.LooksLikeID(ref) {
		return o, err
	}
	if other, elsewhere := s.findIn(ctx, ref, true); elsewhere == nil {
		return other, nil
	}
	return o, err
}

// findIn is find in the project of the token, or in all.
func (s *servers) findIn(ctx context.Context, ref string, everywhere bool) (noun.Object, error) {
	missing := &noun.NotFound{Noun: "server", Ref: ref}
	if ref == "" {
		return nil, missing
	}
	if noun.LooksLikeID(ref) {
		o, err := s.get(ctx, ref)
		if !noun.IsNotFound(err) {
			return o, err
		}
	}
	q := url.Values{"name": {exactly(ref)}}
	if everywhere {
		q.Set("all_tenants", "True")
	}
	var found []noun.Object
	for o, err := range noun.Pages(ctx, s.Service, "/servers", q, "servers", 0, nil) {
		if err != nil {
			return nil, fmt.Errorf("find server %q: %w", ref, err)
		}
		if o.Text("name") == ref {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 0:
		return nil, missing
	case 1:
		return found[0], nil
	}
	several := &noun.Ambiguous{Noun: "server", Ref: ref}
	for _, o := range found {
		several.IDs = append(several.IDs, o.Text("id"))
	}
	return nil, several
}

// exactly is the regular expression that a name matches and no other: Nova takes
// the names it is asked for as expressions.
func exactly(name string) string {
	b := []byte{'^'}
	for i := range len(name) {
		if strings.IndexByte(`\.+*?()|[]{}^$`, name[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, name[i])
	}
	return string(append(b, '$'))
}

// id is find for a caller that needs the id alone.
func (s *servers) id(ctx context.Context, ref string) (string, error) {
	o, err := s.find(ctx, ref)
	return o.Text("id"), err
}

// full is find with all attributes.
func (s *servers) full(ctx context.Context, ref string) (noun.Object, error) {
	o, err := s.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if _, complete := o.Lookup("status"); complete {
		return o, nil
	}
	return s.get(ctx, o.Text("id"))
}

// act asks for an action of a server.
func (s *servers) act(ctx context.Context, id, action string, body any) error {
	return s.tell(ctx, http.MethodPost, serverPath(id, "action"), noun.Object{{Name: action, Value: body}})
}

// actFor asks for an action of a server that is answered with an object.
func (s *servers) actFor(ctx context.Context, id, action string, body any) (noun.Object, error) {
	return s.ask(ctx, cloud.Request{
		Method: http.MethodPost, Path: serverPath(id, "action"),
		Body: noun.Object{{Name: action, Value: body}},
	})
}

// settled waits until a server has one of the statuses and nothing more is done
// to it.
func (s *servers) settled(ctx context.Context, o noun.Object, timeout time.Duration, statuses ...string) (noun.Object, error) {
	id, last := o.Text("id"), o
	name := o.Text("name")
	if name == "" {
		name = id
	}
	wait := noun.Wait{
		What:    fmt.Sprintf("server %q to become %s", name, strings.Join(statuses, " or ")),
		Timeout: timeout,
		Probe: func(ctx context.Context) (string, bool, error) {
			now, err := s.get(ctx, id)
			if err != nil {
				return "", false, err
			}
			last = now
			status, task := now.Text("status"), now.Text("OS-EXT-STS:task_state")
			switch {
			case task != "":
				return status + ", " + task, false, nil
			case slices.Contains(statuses, status):
				return status, true, nil
			case status == "ERROR":
				return status, false, &noun.Failed{Noun: "server", Ref: name, State: status, Reason: s.c.Cloud.Mask(now.Text("fault.message"))}
			}
			return status, false, nil
		},
	}
	err := wait.Until(ctx, s.c)
	return last, err
}

// everywhere reports whether names mean servers of all projects: by flag or by
// ALL_PROJECTS.
func everywhere(c *command.Call) bool {
	if c.Given("all-projects") {
		return c.Is("all-projects")
	}
	return truth(c.Env("ALL_PROJECTS")) == yes
}

// allProjects is the flag of the commands that look at all projects.
func allProjects(help string) command.Flag {
	return command.Flag{Name: "all-projects", Help: help + " (admin only; also by the environment, as ALL_PROJECTS)"}
}

// logic is what a text says of a boolean.
type logic int

const (
	unclear logic = iota
	yes
	no
)

// truth reads a boolean as OpenStack writes them.
func truth(text string) logic {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "t", "true", "on", "y", "yes":
		return yes
	case "0", "f", "false", "off", "n", "no":
		return no
	}
	return unclear
}

// object makes an object of names and values, one after the other; pairs whose
// value is nil are left out.
func object(pairs ...any) noun.Object {
	o := noun.Object{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, ok := pairs[i].(string); ok && pairs[i+1] != nil {
			o.Set(name, pairs[i+1])
		}
	}
	return o
}

// givenText is the value of a flag, nil when it is empty.
func givenText(c *command.Call, flag string) any {
	if text := c.Text(flag); text != "" {
		return text
	}
	return nil
}

// properties are the pairs of a flag as an object.
func properties(c *command.Call, flag string) render.Ordered {
	o := render.Ordered{}
	for _, p := range c.Pairs(flag) {
		o = append(o, render.Field{Name: p.Key, Value: p.Value})
	}
	return o
}

// listOf makes a list of JSON.
func listOf[T any](items []T) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = item
	}
	return list
}

// keystack explains the refusal of what only the Nova of KeyStack knows.
func keystack(err error, feature string) error {
	var fault *cloud.Fault
	if !errors.As(err, &fault) || fault.Status != http.StatusBadRequest && fault.Status != http.StatusNotFound {
		return err
	}
	return fmt.Errorf("%w\n\nnote: this uses the KeyStack %s nova extension, which the target cloud rejected; "+
		"confirm you are pointed at a KeyStack deployment", err, feature)
}
