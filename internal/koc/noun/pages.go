package noun

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// page is one page of a list, decoded in one pass: of the items only the
// attributes that keep accepts, and the link to the next page, in whichever of
// the shapes of the services it comes.
//
//	{"servers": [...], "servers_links": [{"rel": "next", "href": URL}]}   nova, cinder, neutron
//	{"images": [...], "next": "/v2/images?marker=..."}                    glance
//	{"users": [...], "links": {"next": URL or null}}                      keystone
type page struct {
	keys  string
	keep  func(string) bool
	items []Object
	next  string
	seen  bool
}

// DecodeFrom implements the decoding of the session.
func (p *page) DecodeFrom(r io.Reader) error {
	d := newDecoder(r)
	p.items, p.next, p.seen = nil, "", false
	if p.keys == "" {
		if d.PeekKind() == '[' {
			p.seen = true
			return p.decodeItems(d)
		}
		return fmt.Errorf("expected a list")
	}
	if t, err := d.ReadToken(); err != nil {
		return err
	} else if t.Kind() != '{' {
		return fmt.Errorf("expected an object with the list %q", p.keys)
	}
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := t.String()
		switch {
		case name == p.keys:
			p.seen = true
			if err := p.decodeItems(d); err != nil {
				return err
			}
		case name == "next", name == "links", name == p.keys+"_links":
			v, err := decodeValue(d)
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

func (p *page) decodeItems(d *jsontext.Decoder) error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	if t, err := d.ReadToken(); err != nil {
		return err
	} else if t.Kind() != '[' {
		return fmt.Errorf("%q is no list", p.keys)
	}
	for d.PeekKind() != ']' {
		if d.PeekKind() != '{' { // a list of bare values: types, names
			v, err := decodeValue(d)
			if err != nil {
				return err
			}
			p.items = append(p.items, Object{{Name: "", Value: v}})
			continue
		}
		o, err := decodeObject(d, p.keep)
		if err != nil {
			return err
		}
		p.items = append(p.items, Object(o))
	}
	_, err := d.ReadToken()
	return err
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
// request, the links of the service lead on. The next page is fetched while the
// current one is consumed. Of each item only the attributes that keep accepts
// are decoded; nil keeps all. limit ends the list early; 0 is none.
func Pages(ctx context.Context, s cloud.Service, path string, query url.Values, keys string, limit int, keep func(string) bool) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type fetched struct {
			page page
			err  error
		}
		fetch := func(r cloud.Request) <-chan fetched {
			c := make(chan fetched, 1)
			go func() {
				f := fetched{page: page{keys: keys, keep: keep}}
				r.Into = &f.page
				f.err = s.Do(ctx, r)
				c <- f
			}()
			return c
		}
		count := 0
		seen := map[string]bool{}
		pending := fetch(cloud.Request{Path: path, Query: query})
		for pending != nil {
			got := <-pending
			pending = nil
			if got.err != nil {
				yield(nil, got.err)
				return
			}
			full := limit > 0 && count+len(got.page.items) >= limit
			if next := got.page.next; next != "" && len(got.page.items) > 0 && !full {
				if seen[next] {
					yield(nil, fmt.Errorf("the list %s goes in circles: its page %s came twice", path, next))
					return
				}
				seen[next] = true
				pending = fetch(follow(s, next))
			}
			for _, o := range got.page.items {
				if limit > 0 && count >= limit {
					return
				}
				count++
				if !yield(o, nil) {
					return
				}
			}
		}
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
