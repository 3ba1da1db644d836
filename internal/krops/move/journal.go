package move

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// phase is how far a move is. See the diagram of the package.
type phase string

const (
	pausing  phase = "pausing"
	copying  phase = "copying"
	released phase = "released"
	removing phase = "removing"
	complete phase = "complete" // of the record at the target: copying is over
	done     phase = "done"
)

// Names of the two records, ConfigMaps in the namespace that is moved.
const (
	journalName = "krops-move"  // at the source
	recordName  = "krops-moved" // at the target
)

// item is an object of the list.
type item struct {
	key

	kind  kind // group, version, kind, resource
	uid   types.UID
	level int
	keep  bool // not deleted at the source
	prior bool // it was at the target before, so it is no copy of ours
}

// journal is what a move writes down at one side.
type journal struct {
	move  types.UID // which move: the UID of the journal at the source
	phase phase
	items []item

	version string // of the ConfigMap, for the next write
}

// committed tells whether the target has everything.
func (j *journal) committed() bool {
	return j.phase == removing || j.phase == complete || j.phase == done
}

// past returns the item of a key.
func (j *journal) past() map[key]item {
	list := map[key]item{}
	if j != nil {
		for _, i := range j.items {
			list[i.key] = i
		}
	}
	return list
}

// journal reads the record of the source, nil when there is none.
func (s *side) journal(ctx context.Context, namespace string) (*journal, error) {
	return s.read(ctx, namespace, journalName)
}

// record reads that of the target.
func (s *side) record(ctx context.Context, namespace string) (*journal, error) {
	return s.read(ctx, namespace, recordName)
}

func (s *side) read(ctx context.Context, namespace, name string) (*journal, error) {
	u, err := s.get(ctx, configMaps, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s/%s of the %s cluster: %w", namespace, name, s.name, err)
	}
	if u == nil {
		return nil, nil //nolint:nilnil // no record is an answer
	}
	j, err := decode(u)
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s of the %s cluster: %w", namespace, name, s.name, err)
	}
	return j, nil
}

// write stores a record. Two that write at once exclude each other.
func (s *side) write(ctx context.Context, namespace, name string, j *journal) error {
	u, err := encode(namespace, name, j)
	if err != nil {
		return err
	}
	var stored *unstructured.Unstructured
	err = s.persist(ctx, func(ctx context.Context) (err error) {
		r := s.in(configMaps, namespace)
		if j.version == "" {
			stored, err = r.Create(ctx, u, metav1.CreateOptions{FieldManager: manager})
		} else {
			stored, err = r.Update(ctx, u, metav1.UpdateOptions{FieldManager: manager})
		}
		return err
	})
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		// A try that seemed to fail may have come through.
		stored, err = s.same(ctx, u, err)
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s of the %s cluster: %w", namespace, name, s.name, err)
	}
	j.version = stored.GetResourceVersion()
	if name == journalName {
		j.move = stored.GetUID()
	}
	return nil
}

func (s *side) same(ctx context.Context, want *unstructured.Unstructured, conflict error) (*unstructured.Unstructured, error) {
	found, err := s.get(ctx, configMaps, want.GetNamespace(), want.GetName())
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, conflict
	}
	for _, field := range []string{"data", "binaryData"} {
		a, _, _ := unstructured.NestedStringMap(found.Object, field)
		b, _, _ := unstructured.NestedStringMap(want.Object, field)
		if !maps.Equal(a, b) {
			return nil, fmt.Errorf("somebody else is moving this namespace: %w", conflict)
		}
	}
	return found, nil
}

// plain is how long a list may be to be stored as it is, for people to read.
const plain = 512 << 10

func encode(namespace, name string, j *journal) (*unstructured.Unstructured, error) {
	data := map[string]any{
		"phase": string(j.phase),
		"about": "A move of the Cluster API inventory of this namespace. krops-bootstrap finishes it when it is run again; do not edit.",
	}
	if name == recordName {
		data["move"] = string(j.move)
	}
	var list strings.Builder
	for _, i := range j.items {
		list.WriteString(i.line() + "\n")
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": data,
		"metadata": map[string]any{"name": name, "namespace": namespace},
	}}
	u.SetResourceVersion(j.version)
	if list.Len() <= plain {
		data["objects"] = list.String()
		return u, nil
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, list.String()); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	u.Object["binaryData"] = map[string]any{"objects.gz": base64Of(packed.Bytes())}
	return u, nil
}

var errGarbled = errors.New("it is no record of a move; look at it, and delete it if it is not of krops-bootstrap")

func decode(u *unstructured.Unstructured) (*journal, error) {
	data, _, err := unstructured.NestedStringMap(u.Object, "data")
	if err != nil {
		return nil, errGarbled
	}
	j := &journal{move: types.UID(data["move"]), phase: phase(data["phase"]), version: u.GetResourceVersion()}
	switch j.phase {
	case pausing, copying, released, removing, complete, done:
	default:
		return nil, fmt.Errorf("%w: phase %q", errGarbled, j.phase)
	}
	if u.GetName() == journalName {
		j.move = u.GetUID()
	}
	text := data["objects"]
	if packed, ok, _ := unstructured.NestedString(u.Object, "binaryData", "objects.gz"); ok {
		if text, err = unpack(packed); err != nil {
			return nil, err
		}
	}
	for line := range strings.Lines(text) {
		i, err := parseItem(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		j.items = append(j.items, i)
	}
	return j, nil
}

// line is an item as text: level, version, kind, resource, name, UID, flags.
func (i item) line() string {
	flags := "-"
	switch {
	case i.keep && i.prior:
		flags = "keep,prior"
	case i.keep:
		flags = "keep"
	case i.prior:
		flags = "prior"
	}
	return strings.Join([]string{
		strconv.Itoa(i.level), i.kind.GroupVersion().String(), i.Kind, i.kind.resource, cmp.Or(i.namespace, "-"), i.name, string(i.uid), flags,
	}, " ")
}

func parseItem(line string) (item, error) {
	f := strings.Split(line, " ")
	const fields = 8
	if len(f) != fields || slices.Contains(f, "") {
		return item{}, fmt.Errorf("%w: %q", errGarbled, line)
	}
	level, err := strconv.Atoi(f[0])
	gv, wrong := schema.ParseGroupVersion(f[1])
	if err != nil || wrong != nil || level < 0 {
		return item{}, fmt.Errorf("%w: %q", errGarbled, line)
	}
	i := item{level: level, uid: types.UID(f[6])}
	i.kind = kind{GroupVersionKind: gv.WithKind(f[2]), resource: f[3]}
	i.key = key{i.kind.GroupKind(), f[4], f[5]}
	if i.namespace == "-" {
		i.namespace, i.kind.global = "", true
	}
	switch f[7] {
	case "-":
	case "keep":
		i.keep = true
	case "prior":
		i.prior = true
	case "keep,prior":
		i.keep, i.prior = true, true
	default:
		return item{}, fmt.Errorf("%w: %q", errGarbled, line)
	}
	return i, nil
}
