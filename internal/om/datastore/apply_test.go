package datastore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestSeveralChangesAreOneCommitOrNone(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, p := range stores() {
		if err := s.SetAll(t.Context(), p, map[string][]byte{"a": []byte("1"), "b": []byte("2")}); err != nil {
			t.Fatal(err)
		}
		before := s.file(t, p)

		_, err := s.Apply(t.Context(), p, []datastore.Op{
			{Action: datastore.Add, Name: "c", Value: []byte("3")},
			{Action: datastore.Rename, Name: "a", To: "d"},
			{Action: datastore.Change, Name: "gone", Value: []byte("4")},
		})

		fails(t, err, "change 3 of 3", p.String(), "no key gone")
		if s.file(t, p) != before {
			t.Errorf("%s: part of it was written", p)
		}

		if _, err := s.Apply(t.Context(), p, []datastore.Op{
			{Action: datastore.Add, Name: "c", Value: []byte("3")},
			{Action: datastore.Rename, Name: "a", To: "d"},
			{Action: datastore.Change, Name: "d", Value: []byte("5")},
			{Action: datastore.Remove, Name: "b"},
		}); err != nil {
			t.Fatal(err)
		}
		values, err := s.DecodeAll(p, nil)
		if diff := cmp.Diff([]datastore.KeyValue{{"c", []byte("3")}, {"d", []byte("5")}}, values); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
}

func TestAnUnknownActionIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, err := s.Apply(t.Context(), path(object.KindCfg), []datastore.Op{{Action: "drop", Name: "a"}})
	fails(t, err, `action "drop"`, "add, change, remove or rename")
}

func TestConcurrentChangesLoseNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(object.KindSec)
	if err := s.Set(t.Context(), p, "count", []byte("0")); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	const writers, times = 4, 3
	for w := range writers {
		group.Go(func() {
			for i := range times {
				_, err := s.Modify(t.Context(), p, func(tx *datastore.Tx) error {
					count, err := tx.Decode("count")
					if err != nil {
						return err
					}
					n, err := strconv.Atoi(string(count))
					if err != nil {
						return err
					}
					return errors.Join(tx.Change("count", []byte(strconv.Itoa(n+1))), tx.Add(strconv.Itoa(w)+"-"+strconv.Itoa(i), nil))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()

	keys, err := s.Keys(p)
	if count, err := s.Decode(p, "count"); string(count) != strconv.Itoa(writers*times) || err != nil {
		t.Errorf("count %q, %v", count, err)
	}
	if len(keys) != 1+writers*times || err != nil {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

// model is what the keys of an object are: names and values.
type model map[string]string

// apply does what an [datastore.Op] should, and reports whether it may.
func (m model) apply(op datastore.Op) bool {
	_, there := m[op.Name]
	_, taken := m[op.To]
	switch op.Action {
	case datastore.Add:
		if there || datastore.CheckName(op.Name) != nil {
			return false
		}
		m[op.Name] = string(op.Value)
	case datastore.Change:
		if !there {
			return false
		}
		m[op.Name] = string(op.Value)
	case datastore.Remove:
		if !there {
			return false
		}
		delete(m, op.Name)
	case datastore.Rename:
		if !there || taken || datastore.CheckName(op.To) != nil {
			return false
		}
		m[op.To] = m[op.Name]
		delete(m, op.Name)
	default:
		return false
	}
	return true
}

// broken says how applying ops to an empty object breaks the law: what they leave
// is what the model says, and reads the same in the file.
func broken(p object.Path, ops []datastore.Op, apply func(*datastore.Tx, []datastore.Op) error) string {
	doc := config.NewDocument()
	const limit = 1 << 10
	want, valid := model{}, true
	for _, op := range ops {
		if valid = valid && len(op.Value) <= limit && want.apply(op); !valid {
			break
		}
	}
	err := apply(datastore.NewTx(p, doc, limit), ops)
	if valid != (err == nil) {
		return "the model says " + strconv.FormatBool(valid) + ", got " + strconv.Quote(cmp.Diff(nil, err))
	}
	if !valid {
		return ""
	}
	read, err := config.Parse(doc.Bytes())
	if err != nil {
		return "the file does not parse: " + err.Error()
	}
	tx := datastore.NewTx(p, read, limit)
	if names := tx.Names(); !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
		return "the keys are " + strings.Join(names, ", ")
	}
	for name, value := range want {
		if got, err := tx.Decode(name); string(got) != value || err != nil {
			return name + " does not hold its value"
		}
	}
	return ""
}

func (m model) draw(t *rapid.T) []datastore.Op {
	names := rapid.SampledFrom([]string{"a", "b", "c", "d/e", "a@b", "../x", "x\n", ""})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) datastore.Op {
		return datastore.Op{
			Action: rapid.SampledFrom([]datastore.Action{datastore.Add, datastore.Add, datastore.Change, datastore.Remove, datastore.Rename}).Draw(t, "action"),
			Name:   names.Draw(t, "name"), To: names.Draw(t, "to"), Value: rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "value"),
		}
	}), 0, 6).Draw(t, "ops")
}

func TestChangesDoWhatTheModelSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]object.Path{path(object.KindCfg), path(object.KindSec)}).Draw(t, "object")
		if why := broken(p, model{}.draw(t), (*datastore.Tx).Apply); why != "" {
			t.Fatal(why)
		}
	})
}

func TestTheModelTellsAChangeThatIsForgotten(t *testing.T) {
	t.Parallel()
	forgets := func(tx *datastore.Tx, ops []datastore.Op) error { return tx.Apply(ops[:len(ops)-1]) }
	ops := []datastore.Op{{Action: datastore.Add, Name: "a"}, {Action: datastore.Remove, Name: "a"}}
	if broken(path(object.KindCfg), ops, forgets) == "" {
		t.Error("the law cannot fail")
	}
}

func FuzzAnyChangesDoWhatTheModelSays(f *testing.F) {
	f.Add([]byte(`[{"Action":"add","Name":"a","Value":"AA=="},{"Action":"rename","Name":"a","To":"b/c"}]`), true)
	f.Add([]byte(`[{"Action":"add","Name":"../a"}]`), false)
	f.Add([]byte(`[{"Action":"add","Name":"a=b"},{"Action":"add","Name":"[x]"},{"Action":"add","Name":"a@b@c"}]`), false)
	f.Add([]byte(`[{"Action":"add","Name":"a","Value":"YAoiIiI="},{"Action":"change","Name":"a","Value":"W2RhdGFdCng9MQ=="}]`), false)
	f.Fuzz(func(t *testing.T, text []byte, sealed bool) {
		var ops []datastore.Op
		if json.NewDecoder(bytes.NewReader(text)).Decode(&ops) != nil {
			t.Skip("no changes")
		}
		p := path(object.KindCfg)
		if sealed {
			p = path(object.KindSec)
		}
		if why := broken(p, ops, (*datastore.Tx).Apply); why != "" {
			t.Fatal(why)
		}
	})
}

// A value comes back through the text of a file, and any text of a file is a value
// or an error: it may come from another release, or from a hand.
func FuzzTheTextOfAKeyIsAValueOrAnError(f *testing.F) {
	for _, text := range []string{"literal:x", "base64:/w==", "crypt:1:AAAA", "crypt:2:", "literal:", "`", "\"\"\"a\nb\"\"\"", "$(1+1) {x}", "\x00\xff", " # ; ="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range stores() {
			doc := config.NewDocument()
			tx := datastore.NewTx(p, doc, 1<<20)
			if err := tx.Add("k", []byte(text)); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			read, err := config.Parse(doc.Bytes())
			if err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			if got, err := datastore.NewTx(p, read, 1<<20).Decode("k"); string(got) != text || err != nil {
				t.Fatalf("%s: %q comes back as %q, %v", p, text, got, err)
			}
			if doc.Set(config.Key{Section: "data", Option: "k"}, text) != nil {
				continue // no file can hold it
			}
			value, err := tx.Decode("k")
			if err == nil && p.Kind != object.KindCfg {
				t.Fatalf("%s: %q opens as %q", p, text, value)
			}
			if err == nil && tx.Set("k", append(value, 'x')) != nil {
				t.Fatalf("%s: %q cannot be changed", p, text)
			}
		}
	})
}
