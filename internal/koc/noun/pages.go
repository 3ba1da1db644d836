package noun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// page is one page of a list, decoded in one pass: of the items only the
// attributes that are wanted, handed on a batch at a time, and the link to the
// next page, in whichever of the shapes of the services it comes.
//
//	{"servers": [...], "servers_links": [{"rel": "next", "href": URL}]}   nova, cinder, neutron
//	{"images": [...], "next": "/v2/images?marker=..."}                    glance
//	{"users": [...], "links": {"next": URL or null}}                      keystone
type page struct {
	keys   string
	wanted Wanted
	emit   func([]Object) error
	count  int
	next   string
	seen   bool
}

// batch is how many items are handed on together.
const batch = 64

// DecodeFrom implements the decoding of the session.
func (p *page) DecodeFrom(r io.Reader) error {
	d := newDecoder(r)
	if p.keys == "" {
		if d.PeekKind() == '[' {
			p.seen = true
			return p.decodeItems(d)
		}
		return errors.New("expected a list")
	}
	if t, err := d.ReadToken(); err != nil {
		return err
	} else if t.Kind() != '{' {
		return fmt.Errorf("expected an object with the list %q", p.keys)
	}
	for d.PeekKind() != '}' {
		name, err := d.name()
		if err != nil {
			return err
		}
		switch name {
		case p.keys:
			p.seen = true
			if err := p.decodeItems(d); err != nil {
				return err
			}
		case "next", "links", p.keys + "_links":
			v, err := d.value(nil)
			if err != nil {
				return err
			}
			if next := nextLink(name, v); next != "" {
				p.next = next
			}
		default:
			if err := d.SkipValue(); err != nil {
				return err
			}
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if !p.seen {
		return fmt.Errorf("the answer has no list %q", p.keys)
	}
	return nil
}

func (p *page) decodeItems(d *decoder) error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	if t, err := d.ReadToken(); err != nil {
		return err
	} else if t.Kind() != '[' {
		return fmt.Errorf("%q is no list", p.keys)
	}
	var items []Object
	for d.PeekKind() != ']' {
		o, err := d.item(p.wanted)
		if err != nil {
			return err
		}
		items = append(items, o)
		p.count++
		d.in.left = maxItem
		if len(items) == batch {
			if err := p.emit(items); err != nil {
				return err
			}
			items = make([]Object, 0, batch)
		}
	}
	if _, err := d.ReadToken(); err != nil || len(items) == 0 {
		return err
	}
	return p.emit(items)
}

// item reads an item of a list: an object, or a bare value, as of types and names.
func (d *decoder) item(w Wanted) (Object, error) {
	if d.PeekKind() == '{' {
		o, err := d.object(w)
		return Object(o), err
	}
	v, err := d.value(nil)
	return Object{{Name: "", Value: v}}, err
}

func nextLink(name string, v any) string {
	switch v := v.(type) {
	case string:
		if name == "next" {
			return v
		}
	case render.Ordered:
		return Object(v).Text("next")
	case []any:
		for _, link := range v {
			if l, ok := link.(render.Ordered); ok && Object(l).Text("rel") == "next" {
				return Object(l).Text("href")
			}
		}
	}
	return ""
}

// Pages lists the items of all pages of a path: the query is sent with the first
// request, the links of the service lead on. Items are consumed while those after
// them are read. Of each item only the attributes that are wanted are decoded.
// limit ends the list early; 0 is none.
func Pages(ctx context.Context, s cloud.Service, path string, query url.Values, keys string, limit int, wanted Wanted) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		l := &listing{s: s, path: path, keys: keys, limit: limit, wanted: wanted, found: make(chan found, 4)}
		go l.read(inner, cloud.Request{Path: path, Query: query})
		defer func() {
			cancel()
			for range l.found { // until the reader has ended
			}
		}()
		for f := range l.found {
			if f.err != nil {
				yield(nil, f.err)
				return
			}
			for _, o := range f.items {
				if !yield(o, nil) {
					return
				}
			}
		}
		if err := ctx.Err(); err != nil { // which may have ended the list
			yield(nil, err)
		}
	}
}

// listing reads the pages of a list.
type listing struct {
	s          cloud.Service
	path, keys string
	limit      int
	wanted     Wanted
	found      chan found
}

// found is some items of a list, or why there are no more.
type found struct {
	items []Object
	err   error
}

func (l *listing) read(ctx context.Context, r cloud.Request) {
	defer close(l.found)
	send := func(f found) error {
		select {
		case l.found <- f:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	seen := map[string]bool{}
	count := 0
	for {
		p := page{keys: l.keys, wanted: l.wanted, emit: func(items []Object) error {
			if l.limit > 0 {
				items = items[:min(len(items), l.limit-count)]
			}
			count += len(items)
			if len(items) == 0 {
				return nil
			}
			return send(found{items: items})
		}}
		r.Into = &p
		if err := l.s.Do(ctx, r); err != nil {
			_ = send(found{err: err})
			return
		}
		if p.next == "" || p.count == 0 || l.limit > 0 && count >= l.limit {
			return
		}
		if seen[p.next] {
			_ = send(found{err: fmt.Errorf("the list %s goes in circles: its page %s came twice", l.path, p.next)})
			return
		}
		seen[p.next] = true
		r = follow(l.s, p.next)
	}
}

// follow is the request for a next link. A proxy may let a service write another
// host into its links than clients see: only path and query are taken, below the
// endpoint of the catalogue.
func follow(s cloud.Service, next string) cloud.Request {
	u, err := url.Parse(next)
	if err != nil {
		return cloud.Request{Path: next}
	}
	path := u.Path
	if base, err := url.Parse(s.Endpoint); err == nil {
		if rest, below := strings.CutPrefix(path, strings.TrimRight(base.Path, "/")); below {
			path = rest
		} else if i := strings.LastIndex(base.Path, "/v"); i >= 0 { // /v2 of a path behind a prefix of the proxy
			if _, rest, ok := strings.Cut(path, strings.TrimRight(base.Path[i:], "/")+"/"); ok {
				path = "/" + rest
			}
		}
	}
	return cloud.Request{Path: path, Query: u.Query()}
}
