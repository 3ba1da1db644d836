package move_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/move"
)

const (
	marked   = "krops.io/paused-by-move"
	clusters = "cluster.x-k8s.io/clusters/" + ns + "/"
)

// laws watches two servers at each write, and judges how they end.
type laws struct {
	source, target *server
	before         map[string]*unstructured.Unstructured
	broken         []string
}

// watch begins to watch.
func watch(source, target *server) *laws {
	l := &laws{source: source, target: target, before: map[string]*unstructured.Unstructured{}}
	for _, id := range source.ids() {
		l.before[id] = source.at(id)
	}
	source.wrote = l.atSource
	target.wrote = l.atTarget
	return l
}

func (l *laws) fault(format string, a ...any) { l.broken = append(l.broken, fmt.Sprintf(format, a...)) }

func called(u *unstructured.Unstructured) string {
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

func own(u *unstructured.Unstructured) bool { return strings.HasPrefix(u.GetName(), "krops-move") }

// atSource judges a write of the source.
func (l *laws) atSource(verb string, old, now *unstructured.Unstructured) {
	switch {
	case now != nil && own(now):
		return
	case verb == "create":
		l.fault("%s is made at the source", called(now))
	case verb == "deleting":
		l.fault("%s is seen deleting at the source: its controller would destroy what it stands for", called(old))
	case verb == "delete":
		if l.find(l.target, old) == nil {
			l.fault("%s is deleted at the source, and the target does not have it", called(old))
		}
		for _, u := range l.source.objects {
			if slices.ContainsFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == old.GetUID() }) {
				l.fault("%s is deleted at the source before %s, which it owns", called(old), called(u))
			}
		}
	default:
		if paused(old) && !mark(old) && !paused(now) {
			l.fault("%s was paused by its operator, and is resumed at the source", called(old))
		}
		a, b := old.DeepCopy(), now.DeepCopy()
		unstructured.RemoveNestedField(a.Object, "spec", "paused")
		unstructured.RemoveNestedField(b.Object, "spec", "paused")
		if fmt.Sprint(a.Object["spec"], a.Object["data"]) != fmt.Sprint(b.Object["spec"], b.Object["data"]) && fmt.Sprint(b.Object["spec"]) != "map[]" {
			l.fault("%s is changed at the source", called(old))
		}
	}
	l.both()
}

// atTarget judges a write of the target.
func (l *laws) atTarget(verb string, old, now *unstructured.Unstructured) {
	switch {
	case now != nil && own(now):
		return
	case verb == "delete" || verb == "deleting":
		if l.find(l.source, old) != nil {
			l.fault("%s is deleted at the target, and the source has it", called(old))
		}
	case old != nil && paused(old) && !mark(old) && !paused(now):
		l.fault("%s was paused by its operator, and is resumed at the target", called(old))
	}
	l.both()
}

// both judges the two together: what runs at the target has left the source.
func (l *laws) both() {
	for id, u := range l.target.objects {
		if !strings.HasPrefix(id, clusters) || paused(u) {
			continue
		}
		for left := range l.source.objects {
			if _, of := l.before[left]; of && !stays(left) && !strings.HasPrefix(left, "/namespaces") {
				l.fault("%s runs at the target, and the source still has %s", called(u), left)
				return
			}
		}
	}
}

func (l *laws) find(s *server, u *unstructured.Unstructured) *unstructured.Unstructured {
	for _, o := range s.objects {
		if o.GroupVersionKind() == u.GroupVersionKind() && o.GetNamespace() == u.GetNamespace() && o.GetName() == u.GetName() {
			return o
		}
	}
	return nil
}

func paused(u *unstructured.Unstructured) bool {
	p, _, _ := unstructured.NestedBool(u.Object, "spec", "paused")
	_, a := u.GetAnnotations()["cluster.x-k8s.io/paused"]
	return p || a
}

func mark(u *unstructured.Unstructured) bool { _, ok := u.GetAnnotations()[marked]; return ok }

// global are objects that a move copies and leaves.
func global(id string) bool {
	return id == "/secrets/capd-system/identity" || id == "infrastructure.cluster.x-k8s.io/devidentities//default"
}

// moved judges the end of a move that went well. operator names the Clusters that
// must still be paused.
func (l *laws) moved(operator ...string) error {
	l.source.mu.Lock()
	defer l.source.mu.Unlock()
	var wrong []string
	if len(l.broken) > 0 {
		wrong = append(wrong, l.broken[0])
	}
	for id, u := range l.before {
		copied := l.target.objects[id]
		if stays(id) != (l.source.objects[id] != nil) {
			wrong = append(wrong, fmt.Sprintf("%s at the source: %t", id, l.source.objects[id] != nil))
		}
		if (!stays(id) || global(id)) != (copied != nil) {
			wrong = append(wrong, fmt.Sprintf("%s at the target: %t", id, copied != nil))
		}
		if copied != nil {
			wrong = append(wrong, l.copied(id, u, copied, operator)...)
		}
	}
	for id := range l.target.objects {
		if strings.Contains(id, "/"+ns+"/") && l.before[id] == nil && !strings.Contains(id, "krops-moved") {
			wrong = append(wrong, id+" at the target came from nowhere")
		}
	}
	slices.Sort(wrong)
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}

func (l *laws) copied(id string, u, copied *unstructured.Unstructured, operator []string) []string {
	var wrong []string
	var was, is []string
	for _, r := range u.GetOwnerReferences() {
		was = append(was, r.Kind+" "+r.Name)
	}
	for _, r := range copied.GetOwnerReferences() {
		is = append(is, r.Kind+" "+r.Name)
		owner := false
		for _, o := range l.target.objects {
			owner = owner || o.GetUID() == r.UID && o.GetName() == r.Name
		}
		if !owner {
			wrong = append(wrong, id+" at the target is owned by what is not there")
		}
	}
	if !slices.Equal(was, is) {
		wrong = append(wrong, fmt.Sprintf("%s is owned by %v, was by %v", id, is, was))
	}
	if paused(copied) != slices.Contains(operator, u.GetName()) && u.GetKind() == "Cluster" || mark(copied) {
		wrong = append(wrong, fmt.Sprintf("%s at the target is paused: %t", id, paused(copied)))
	}
	if a, b := u.GetFinalizers(), copied.GetFinalizers(); !slices.Equal(a, b) {
		wrong = append(wrong, fmt.Sprintf("%s has the finalizers %v, had %v", id, b, a))
	}
	if fmt.Sprint(u.Object["data"]) != fmt.Sprint(copied.Object["data"]) {
		wrong = append(wrong, id+" has another content")
	}
	return wrong
}

// untouched judges the source after a move that failed.
func (l *laws) untouched() error {
	l.source.mu.Lock()
	defer l.source.mu.Unlock()
	if len(l.broken) > 0 {
		return errors.New(l.broken[0])
	}
	for id, u := range l.before {
		now := l.source.objects[id]
		if now == nil {
			return errors.New(id + " is gone from the source")
		}
		a, b := u.DeepCopy(), now.DeepCopy()
		for _, o := range []*unstructured.Unstructured{a, b} {
			o.SetResourceVersion("")
			o.SetGeneration(0)
			if len(o.GetAnnotations()) == 0 {
				o.SetAnnotations(nil)
			}
		}
		if diff := cmp.Diff(a.Object, b.Object); diff != "" {
			return fmt.Errorf("%s of the source has changed: %s", id, diff)
		}
	}
	return nil
}

var errDead = errors.New("the process is dead")

// crash ends a process at its nth write, before it is sent or after: no request of
// it arrives any more.
type crash struct {
	at    int
	after bool
	die   context.CancelFunc

	mu     sync.Mutex
	writes int
	dead   bool
}

func (c *crash) wrap(next http.RoundTripper) http.RoundTripper { return transport{c, next} }

type transport struct {
	*crash

	next http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead {
		return nil, errDead
	}
	if r.Method == http.MethodGet || r.URL.Query().Get("dryRun") != "" {
		return t.next.RoundTrip(r)
	}
	t.writes++
	if t.writes != t.at {
		return t.next.RoundTrip(r)
	}
	t.dead = true
	if t.after {
		if answer, err := t.next.RoundTrip(r); err == nil {
			_ = answer.Body.Close()
		}
	}
	t.die()
	return nil, errDead
}

// run moves until the process dies, or to the end. It returns how many writes it made.
func (c *crash) run(l *laws) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.die = cancel
	_, err := move.Move(ctx, options(through{l.source, c.wrap}, through{l.target, c.wrap}))
	return c.writes, err
}

func TestACrashAtAnyWriteLosesNothing(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	writes, err := (&crash{}).run(watch(source, target))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a move of this inventory makes %d writes", writes)

	for at := 1; at <= writes; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%03d-%t", at, after), func(t *testing.T) {
				t.Parallel()
				source, target := pair(t)
				source.change(clusters+"mgmt", func(*unstructured.Unstructured) {})
				l := watch(source, target)
				if _, err := (&crash{at: at, after: after}).run(l); err == nil {
					t.Fatal("the process did not die")
				}

				if _, err := move.Move(context.Background(), options(source, target)); err != nil {
					t.Fatalf("the rerun: %v", err)
				}
				if err := l.moved(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
