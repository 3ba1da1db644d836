package httpd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// maxNarrowed bounds the selections of fields whose encodings are remembered.
const maxNarrowed = 8

// encodings remembers the encoding of each item of a list, as long as what it is
// made of stays the same value: views share what did not change. The whole list
// is remembered too: most readers ask for the same.
type encodings[K, V comparable] struct {
	kind   string // of the list
	seed   maphash.Seed
	encode func(K, V) (item, error)

	mu       sync.Mutex
	items    map[K]encoding[V]
	last     *list
	narrowed map[string]*encodings[K, V] // by the fields asked for
}

// item is an encoded item of a list. Its data, when it has some, are part of it.
type item struct{ whole, data []byte }

type encoding[V comparable] struct {
	item

	of   V
	hash uint64
}

// list is an encoded list.
type list struct {
	tag  string
	data []byte

	once sync.Once
	zip  []byte
}

// compressed returns the list as it is sent to who understands gzip.
func (l *list) compressed() []byte {
	l.once.Do(func() {
		var b bytes.Buffer
		writeCompressed(&b, [][]byte{l.data})
		l.zip = b.Bytes()
	})
	return l.zip
}

// write answers l, or that the reader has it already.
func (l *list) write(c huma.Context, status int) {
	if toldUnchanged(c, l.tag) {
		return
	}
	if compresses(c, len(l.data)) {
		c.SetHeader("Content-Encoding", "gzip")
		c.SetHeader("Vary", "Accept-Encoding")
		writePlain(c, status, "application/json", l.compressed())
		return
	}
	writePlain(c, status, "application/json", l.data)
}

func newEncodings[K, V comparable](kind string, seed maphash.Seed, encode func(K, V) (item, error)) *encodings[K, V] {
	return &encodings[K, V]{kind: kind, seed: seed, encode: encode, items: map[K]encoding[V]{}, narrowed: map[string]*encodings[K, V]{}}
}

// of returns the encodings of keys, whose values are given by value. Those of
// keys that are not alive any more are forgotten, once there may be some.
func (e *encodings[K, V]) of(keys []K, value func(K) V, alive func(K) bool, count int) ([]encoding[V], error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]encoding[V], 0, len(keys))
	for _, k := range keys {
		known, err := e.one(k, value(k))
		if err != nil {
			return nil, err
		}
		all = append(all, known)
	}
	if len(e.items) > count {
		for k := range e.items {
			if !alive(k) {
				delete(e.items, k)
			}
		}
	}
	return all, nil
}

// one returns the encoding of v, made when it is not the one remembered.
func (e *encodings[K, V]) one(k K, v V) (encoding[V], error) {
	if known, ok := e.items[k]; ok && known.of == v {
		return known, nil
	}
	i, err := e.encode(k, v)
	if err != nil {
		return encoding[V]{}, err
	}
	known := encoding[V]{item: i, of: v, hash: maphash.Bytes(e.seed, i.whole)}
	e.items[k] = known
	return known, nil
}

// narrow returns the encodings of the same items, of which only fields are kept.
func (e *encodings[K, V]) narrow(f *selection) *encodings[K, V] {
	if f == nil {
		return e
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.narrowed[f.text]
	if known == nil {
		if len(e.narrowed) >= maxNarrowed {
			clear(e.narrowed)
		}
		known = newEncodings(e.kind, e.seed, func(k K, v V) (item, error) {
			e.mu.Lock()
			full, err := e.one(k, v)
			e.mu.Unlock()
			if err != nil {
				return item{}, err
			}
			whole, err := f.item(full.whole)
			return item{whole: whole}, err
		})
		e.narrowed[f.text] = known
	}
	return known
}

// join returns the list of items.
func (e *encodings[K, V]) join(items []encoding[V]) *list {
	tag := entityTag(items)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last != nil && e.last.tag == tag {
		return e.last
	}
	size := 64
	for _, item := range items {
		size += len(item.whole) + 1
	}
	data := append(make([]byte, 0, size), `{"kind":"`+e.kind+`","items":[`...)
	for i, item := range items {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, item.whole...)
	}
	e.last = &list{tag: tag, data: append(data, "]}"...)}
	return e.last
}

// single answers one item.
func single[V comparable](e encoding[V]) body {
	one := &list{tag: entityTag([]encoding[V]{e}), data: e.whole}
	return one.write
}

// entityTag depends on each item and on their order.
func entityTag[V comparable](items []encoding[V]) string {
	var h uint64 = 14695981039346656037
	for _, item := range items {
		h = (h ^ item.hash) * 1099511628211
	}
	return fmt.Sprintf(`"%x-%x"`, len(items), h)
}

// tagOf identifies an answer of this process: the tag means nothing to another.
func tagOf(seed maphash.Seed, data ...[]byte) string {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, d := range data {
		_, _ = h.Write(d) // never fails
	}
	return `"` + strconv.FormatUint(h.Sum64(), 16) + `"`
}

// toldUnchanged gives an answer its tag, and answers that nothing changed to the
// reader that holds it.
func toldUnchanged(c huma.Context, tag string) bool {
	c.SetHeader("ETag", tag)
	if !holds(c.Header("If-None-Match"), tag) {
		return false
	}
	c.SetStatus(http.StatusNotModified)
	return true
}

// holds reports whether an If-None-Match header names a tag. The comparison is
// the weak one, that RFC 9110 asks for.
func holds(header, tag string) bool {
	return header != "" && matchesList(header, func(word string) bool {
		return word == "*" || strings.TrimPrefix(word, "W/") == strings.TrimPrefix(tag, "W/")
	})
}

// What the items of the lists are known by.
type (
	instanceKey struct {
		path object.Path
		node string
	}
	resourceKey struct {
		instanceKey

		rid string
	}
)

func encodeObject(p object.Path, o *cluster.Object) (item, error) {
	return encodeItem("ObjectItem", api.ObjectMeta{Object: p.String()}, o)
}

func encodeInstance(k instanceKey, i cluster.Instance) (item, error) {
	return encodeItem("InstanceItem", api.InstanceMeta{Object: k.path.String(), Node: k.node}, i)
}

func encodeResource(k resourceKey, i cluster.Instance) (item, error) {
	return encodeItem("ResourceItem", api.ResourceMeta{Object: k.path.String(), Node: k.node, Rid: k.rid}, resourceOf(i, k.rid))
}

func encodeNode(name string, n *cluster.Node) (item, error) {
	return encodeItem("NodeItem", api.NodeMeta{Node: name}, n)
}

func encodeItem(kind string, meta, data any) (item, error) {
	m, err := json.Marshal(meta)
	if err != nil {
		return item{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	d, err := json.Marshal(data)
	if err != nil {
		return item{}, fmt.Errorf("encode %s %s: %w", kind, m, err)
	}
	head := `{"kind":"` + kind + `","meta":`
	whole := slices.Concat([]byte(head), m, []byte(`,"data":`), d, []byte("}"))
	start := len(whole) - 1 - len(d)
	return item{whole: whole, data: whole[start : start+len(d)]}, nil
}
