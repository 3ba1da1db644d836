// Package noun is the engine behind the ordinary commands of koc. A [Noun] says
// where the things of a kind live and how one is found; builders make commands
// out of it and a few tables:
//
//	var networks = noun.Noun{Name: "network", Service: "network", Path: "/networks", Key: "network"}
//
//	{Name: "network list", Build: networks.List(noun.Listing{Columns: ..., Flags: ...})}
//	{Name: "network show", Build: networks.Show(noun.Showing{Fields: ...})}
//	{Name: "network create", Build: networks.Create(noun.Writing{...})}
//
// What does not fit is plain code: a [command.Command] with a Run of its own,
// which uses the same parts (Find, Pages, Wait, Each).
package noun

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// Noun is a kind of thing of a service.
type Noun struct {
	Name    string // for messages: "security group"
	Service string // type in the catalogue: "network"
	Path    string // of the collection, below the endpoint: "/security-groups"
	Key     string // of one thing in JSON: "security_group"; "-" when it stands alone
	Keys    string // of the list in JSON; "" is Key + "s", "-" when it stands alone
	// ID and Label name the attributes that identify: "" are "id" and "name".
	// Label "-" is for things without a name.
	ID, Label string
	// AnyID makes a reference that does not look like an id be tried as one first,
	// for services whose ids are free text.
	AnyID bool
	// ByName is the query of the search by name: "" is "name", "-" when the
	// service cannot search, so that all of the list is read and compared.
	ByName string
	// Detail is what comes behind Path for a list of whole things, where a plain list
	// tells no more than ids and names: "/detail".
	Detail string
	// Search is what the search by name asks for besides, such as all projects.
	Search url.Values
	// Select is the query by which a list names the attributes it wants, for
	// services that leave out the others: "fields".
	Select string
	// Patch makes an update a PATCH; else it is a PUT.
	Patch bool
	// Microversion is asked for when the user pinned none: see [cloud.Service].
	Microversion string
	// Negotiated is Microversion in the voice of the openstack client alone, whose
	// newer library asks for what it knows.
	Negotiated string
}

// At is the noun below another path: of the rules of one policy, say.
func (n Noun) At(path string) Noun {
	n.Path = path
	return n
}

func (n Noun) keys() string {
	switch {
	case n.Keys == "-":
		return ""
	case n.Keys != "":
		return n.Keys
	default:
		return n.Key + "s"
	}
}

func (n Noun) id() string    { return cmp.Or(n.ID, "id") }
func (n Noun) label() string { return cmp.Or(n.Label, "name") }

// Open is the service of the noun.
func (n Noun) Open(ctx context.Context, c *command.Call) (cloud.Service, error) {
	s, err := c.Cloud.Service(ctx, n.Service)
	if err != nil {
		return s, err
	}
	if n.Microversion != "" {
		s = s.Default(n.Microversion)
	}
	if n.Negotiated != "" && c.Compat() {
		s = s.Default(n.Negotiated)
	}
	return s, nil
}

// envelope is where one thing is decoded from {"network": {...}}.
type envelope struct{ Object }

func (e envelope) open(n Noun) (Object, error) {
	if n.Key == "-" {
		return e.Object, nil
	}
	if _, ok := e.Lookup(n.Key); !ok {
		return nil, fmt.Errorf("the answer of the %s service has no %q", n.Service, n.Key)
	}
	return e.Object.Object(n.Key), nil
}

// Send sends a request to the service of the noun and returns the one thing in
// the answer, nil when it has no body.
func (n Noun) Send(ctx context.Context, c *command.Call, r cloud.Request) (Object, error) {
	s, err := n.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	var e envelope
	switch {
	case r.Into != nil:
	case r.Method == "" || r.Method == http.MethodGet:
		r.Into = &e.Object
	default:
		r.Into = &unless{&e.Object}
	}
	if err := s.Do(ctx, r); err != nil {
		return nil, err
	}
	if e.Object == nil {
		return nil, nil
	}
	return e.open(n)
}

// Do sends a request to the service of the noun and leaves the answer.
func (n Noun) Do(ctx context.Context, c *command.Call, r cloud.Request) error {
	s, err := n.Open(ctx, c)
	if err != nil {
		return err
	}
	return s.Do(ctx, r)
}

// unless decodes the answer to a write, which may have no body.
type unless struct{ *Object }

// DecodeFrom implements the decoding of the session.
func (u unless) DecodeFrom(r io.Reader) error {
	in := bufio.NewReader(r)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return nil
	}
	return u.Object.DecodeFrom(in)
}

// Get fetches one thing by its id.
func (n Noun) Get(ctx context.Context, c *command.Call, id string) (Object, error) {
	return n.Send(ctx, c, cloud.Request{Path: n.Path + "/" + url.PathEscape(id)})
}

// All lists the things that a query selects.
func (n Noun) All(ctx context.Context, c *command.Call, query url.Values) iter.Seq2[Object, error] {
	return n.pages(ctx, c, query, 0, nil)
}

func (n Noun) pages(ctx context.Context, c *command.Call, query url.Values, limit int, wanted Wanted) iter.Seq2[Object, error] {
	s, err := n.Open(ctx, c)
	if err != nil {
		return func(yield func(Object, error) bool) { yield(nil, err) }
	}
	return Pages(ctx, s, n.Path+n.Detail, query, n.keys(), limit, wanted)
}

// Find returns the one thing that a reference, an id or a name, stands for. query
// narrows the search by name; it may be nil. None and several are errors.
func (n Noun) Find(ctx context.Context, c *command.Call, ref string, query url.Values) (Object, error) {
	if ref == "" {
		return nil, &NotFound{Noun: n.Name, Ref: ref}
	}
	if LooksLikeID(ref) || n.AnyID || n.Label == "-" {
		o, err := n.Get(ctx, c, ref)
		if !IsNotFound(err) && !(err != nil && !LooksLikeID(ref) && isBadRequest(err)) {
			return o, err
		}
		if n.Label == "-" {
			return nil, &NotFound{Noun: n.Name, Ref: ref}
		}
	}
	q := url.Values{}
	for _, more := range []url.Values{n.Search, query} {
		maps.Copy(q, more)
	}
	if n.ByName != "-" {
		q.Set(cmp.Or(n.ByName, "name"), ref)
	}
	var found []Object
	for o, err := range n.All(ctx, c, q) {
		if err != nil {
			return nil, fmt.Errorf("find %s %q: %w", n.Name, ref, err)
		}
		if o.Text(n.label()) == ref || n.ByName == "-" && o.Text(n.id()) == ref {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 0:
		return nil, &NotFound{Noun: n.Name, Ref: ref}
	case 1:
		return found[0], nil
	default:
		e := &Ambiguous{Noun: n.Name, Ref: ref}
		for _, o := range found {
			e.IDs = append(e.IDs, o.Text(n.id()))
		}
		return nil, e
	}
}

// Resolve is Find for a caller that needs the id alone. What looks like an id is
// fetched too, so that a wrong one is an error before anything is written.
func (n Noun) Resolve(ctx context.Context, c *command.Call, ref string) (string, error) {
	o, err := n.Find(ctx, c, ref, nil)
	if err != nil {
		return "", err
	}
	return o.Text(n.id()), nil
}

// ResolveAll resolves references in order.
func (n Noun) ResolveAll(ctx context.Context, c *command.Call, refs []string) ([]string, error) {
	ids := make([]string, 0, len(refs))
	for _, ref := range refs {
		id, err := n.Resolve(ctx, c, ref)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// LooksLikeID reports whether a text has the shape of an id: 32 hexadecimal
// digits, with or without the dashes of a UUID.
func LooksLikeID(ref string) bool {
	switch len(ref) {
	case 36:
		for _, i := range [...]int{8, 13, 18, 23} {
			if ref[i] != '-' {
				return false
			}
		}
		ref = strings.ReplaceAll(ref, "-", "")
		if len(ref) != 32 {
			return false
		}
	case 32:
	default:
		return false
	}
	for i := range len(ref) {
		if !strings.ContainsRune("0123456789abcdefABCDEF", rune(ref[i])) {
			return false
		}
	}
	return true
}

// NotFound says that nothing has the name or id of a reference.
type NotFound struct{ Noun, Ref string } //nolint:errname // reads as what it says: noun.NotFound

func (e *NotFound) Error() string { return fmt.Sprintf("no %s has the name or id %q", e.Noun, e.Ref) }

// Ambiguous says that several things have the name of a reference.
type Ambiguous struct { //nolint:errname // as NotFound
	Noun, Ref string
	IDs       []string
}

func (e *Ambiguous) Error() string {
	return fmt.Sprintf("%d %ss have the name %q: give the id of one: %s", len(e.IDs), e.Noun, e.Ref, strings.Join(e.IDs, ", "))
}

// IsNotFound reports whether an error says that a thing does not exist.
func IsNotFound(err error) bool {
	var missing *NotFound
	var fault *cloud.Fault
	return errors.As(err, &missing) || errors.As(err, &fault) && fault.Status == http.StatusNotFound
}

func isBadRequest(err error) bool {
	var fault *cloud.Fault
	return errors.As(err, &fault) && (fault.Status == http.StatusBadRequest || fault.Status == http.StatusForbidden)
}
