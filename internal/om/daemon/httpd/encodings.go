package httpd

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// encodings remembers the encoding of each object, as long as the object stays
// the same value: views share what did not change.
type encodings struct {
	mu    sync.Mutex
	seed  maphash.Seed
	items map[object.Path]encoding
	list  list // the last one asked for: most readers ask for the same
}

// list is an encoded [api.ObjectList].
type list struct {
	tag  string
	data []byte
}

// encoding is an object as an item of an [api.ObjectList].
type encoding struct {
	of   *cluster.Object
	item []byte // the whole item
	data []byte // the object alone, part of item
	hash uint64
}

// of returns the encodings of the objects of v at paths.
func (e *encodings) of(v *cluster.View, paths []object.Path) ([]encoding, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.items == nil {
		e.items, e.seed = map[object.Path]encoding{}, maphash.MakeSeed()
	}
	list := make([]encoding, 0, len(paths))
	for _, p := range paths {
		o := v.Objects[p]
		known, ok := e.items[p]
		if !ok || known.of != o {
			var err error
			if known, err = e.encode(p, o); err != nil {
				return nil, err
			}
			e.items[p] = known
		}
		list = append(list, known)
	}
	if len(e.items) > len(v.Objects) {
		for p := range e.items {
			if v.Objects[p] == nil {
				delete(e.items, p)
			}
		}
	}
	return list, nil
}

// join returns the list of items.
func (e *encodings) join(items []encoding) list {
	tag := entityTag(items)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.list.tag == tag {
		return e.list
	}
	size := 64
	for _, item := range items {
		size += len(item.item) + 1
	}
	data := append(make([]byte, 0, size), `{"kind":"ObjectList","items":[`...)
	for i, item := range items {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, item.item...)
	}
	e.list = list{tag: tag, data: append(data, "]}"...)}
	return e.list
}

// entityTag depends on each item and on their order.
func entityTag(items []encoding) string {
	var h uint64 = 14695981039346656037
	for _, item := range items {
		h = (h ^ item.hash) * 1099511628211
	}
	return fmt.Sprintf(`"%x-%x"`, len(items), h)
}

func (e *encodings) encode(p object.Path, o *cluster.Object) (encoding, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return encoding{}, fmt.Errorf("encode %s: %w", p, err)
	}
	meta, err := json.Marshal(api.ObjectMeta{Object: p.String()})
	if err != nil {
		return encoding{}, fmt.Errorf("encode %s: %w", p, err)
	}
	item := make([]byte, 0, len(data)+len(meta)+64)
	item = append(item, `{"kind":"ObjectItem","meta":`...)
	item = append(append(item, meta...), `,"data":`...)
	start := len(item)
	item = append(append(item, data...), '}')
	return encoding{of: o, item: item, data: item[start : start+len(data)], hash: maphash.Bytes(e.seed, item)}, nil
}
