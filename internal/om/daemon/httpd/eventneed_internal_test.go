package httpd

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/event/eventtest"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// published is e as readers get it: about an object of namespace, when it can be
// about one and namespace is not empty.
func published(e event.Event, namespace string) (envelope *event.Envelope, aboutObject bool) {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.Set(reflect.ValueOf(e))
	field := v.FieldByName("Path")
	aboutObject = field.IsValid() && namespace != ""
	if aboutObject {
		field.Set(reflect.ValueOf(object.Path{Namespace: namespace, Kind: object.KindSvc, Name: "web"}))
	}
	made, _ := reflect.TypeAssert[event.Event](v)
	return event.New(made, time.Time{}, 1), aboutObject
}

// matrix tells where the events that readers see differ from those they may.
func matrix(see func(rbac.Caller, *event.Envelope) bool) (wrong []string) {
	readers := map[string]rbac.Caller{"nobody": {}, "no grant": {Known: true}}
	for _, grants := range []string{"guest:ns1", "operator:ns1", "admin:ns1", "guest:ns2", "guest", "root", "squatter", "prioritizer", "blacklistadmin", "heartbeat", "join", "leave"} {
		parsed, err := rbac.Parse(grants)
		if err != nil {
			return []string{err.Error()}
		}
		readers[grants] = rbac.Caller{Known: true, Grants: parsed}
	}
	all := []string{"guest:ns1", "operator:ns1", "admin:ns1", "guest:ns2", "guest", "root", "join", "leave"}
	for _, e := range eventtest.Every() {
		for _, namespace := range []string{"ns1", ""} {
			envelope, aboutObject := published(e, namespace)
			allowed := all
			_, isOfObjects := reflect.TypeOf(e).FieldByName("Path")
			switch kind := e.Kind(); {
			case aboutObject:
				allowed = []string{"guest:ns1", "operator:ns1", "admin:ns1", "guest", "root"}
			case slices.Contains([]string{"Exec", "ExecFailed", "ExecSuccess"}, kind):
				allowed = []string{"root"} // what the node runs
			case isOfObjects && kind != "ConfigFileUpdated" && kind != "ConfigFileRemoved":
				allowed = nil // it is always about an object
			}
			for name, reader := range readers {
				if see(reader, envelope) != slices.Contains(allowed, name) {
					wrong = append(wrong, name+" and "+e.Kind()+" of namespace "+namespace)
				}
			}
		}
	}
	return wrong
}

func TestEachKindOfEventHasTheGrantItNeeds(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, e := range eventtest.Every() {
		kinds = append(kinds, e.Kind())
		if needOf(e.Kind()) == needOf("a kind nobody declared") {
			t.Errorf("%s is in no row of the table", e.Kind())
		}
	}
	if slices.Sort(kinds); !slices.Equal(kinds, event.Kinds()) {
		t.Errorf("tested are %q, there are %q", kinds, event.Kinds())
	}
	for _, wrong := range matrix(func(c rbac.Caller, e *event.Envelope) bool { return readable(c)(e) }) {
		t.Error(wrong)
	}
}

// The mutants are the mistakes there have been, or could be.
func TestTheMatrixFindsWrongTables(t *testing.T) {
	t.Parallel()
	for name, see := range map[string]func(rbac.Caller, *event.Envelope) bool{
		"what names no namespace is for everybody": func(c rbac.Caller, e *event.Envelope) bool {
			namespace, ok := e.Labels["namespace"]
			return !ok || c.Allows(rbac.NeedGuest, namespace)
		},
		"any role reads any object": func(c rbac.Caller, e *event.Envelope) bool {
			return readable(c)(e) || e.Labels["namespace"] != "" && c.Allows(rbac.AnyRole, "")
		},
		"a role that reads nothing gets the cluster": func(c rbac.Caller, e *event.Envelope) bool {
			return readable(c)(e) || e.Labels["namespace"] == "" && len(c.Grants) > 0 && needOf(e.Kind).node == rbac.AnyRole
		},
	} {
		if len(matrix(see)) == 0 {
			t.Errorf("%s: nothing is noticed", name)
		}
	}
}

func TestAKindThatIsNotInTheTableIsForRoot(t *testing.T) {
	t.Parallel()
	for grants, want := range map[string]bool{"admin": false, "guest": false, "root": true} {
		parsed, err := rbac.Parse(grants)
		if err != nil {
			t.Fatal(err)
		}
		see := readable(rbac.Caller{Known: true, Grants: parsed})
		for _, labels := range []map[string]string{nil, {"namespace": "ns1"}} {
			if see(&event.Envelope{Kind: "SomethingNew", Labels: labels}) != want {
				t.Errorf("%s, %v: want %t", grants, labels, want)
			}
		}
	}
}
