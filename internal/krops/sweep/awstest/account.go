// Package awstest is an AWS account in memory, served over HTTP as AWS serves it:
// the protocols of EC2, EKS, RDS, S3, IAM, STS, CloudFormation, load balancers and
// quotas, each with its own errors. The real SDK reaches it by an endpoint.
//
// It keeps the rules that a sweep meets: what depends on what, small pages, states
// that last a few looks, versions of objects, one code for what does not exist.
// What it is not asked to know it refuses as AWS refuses an unknown action.
package awstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Account is an AWS account.
type Account struct {
	ID string
	// Page is how many things a listing shows at a time.
	Page int
	// Lost is a listing of IAM that says that it goes on, and not where.
	Lost bool
	// Looks is how often something must be looked at until it has changed its state.
	Looks int
	// Quota is how many Elastic IPs a region may have.
	Quota int
	// Epoch is when everything was made that does not say otherwise.
	Epoch time.Time

	mu     sync.Mutex
	serial int
	things map[string]*Thing // by region, kind and id
	faults []*Fault
	calls  []string
	onCall func(n int, call string)
}

// Thing is a resource.
type Thing struct {
	Owner  string `json:"-"` // for tests: who it belongs to
	Region string // "" for what has none
	Kind   string
	ID     string
	VPC    string            `json:",omitempty"`
	State  string            `json:",omitempty"`
	Tags   map[string]string `json:",omitempty"`
	Refs   map[string]string `json:",omitempty"` // to other things
	Lists  map[string][]string
	Made   time.Time

	Objects []Version `json:",omitempty"` // of a bucket

	looks int // until State turns into next
	next  string
}

// Version is one version of an object.
type Version struct {
	Key, ID string
	Marker  bool   // of a deletion
	Refuse  string `json:",omitempty"` // the code that its deletion ends with
}

// New returns an empty account.
func New() *Account {
	return &Account{
		ID: "123456789012", Page: 3, Looks: 2, Quota: 50, Epoch: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
		things: map[string]*Thing{},
	}
}

// Serve makes the account reachable until the test ends, and returns its address.
func (a *Account) Serve(tb testing.TB) string {
	tb.Helper()
	address, closed := a.Listen()
	tb.Cleanup(closed)
	return address
}

// Listen makes the account reachable until it is closed.
func (a *Account) Listen() (address string, closed func()) {
	server := httptest.NewServer(http.HandlerFunc(a.serve))
	return server.URL, func() {
		server.CloseClientConnections()
		server.Close()
	}
}

func address(region, kind, id string) string { return region + "|" + kind + "|" + id }

// Add puts a thing into the account and returns it. Without an id it gets one.
func (a *Account) Add(t Thing) *Thing {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.add(t)
}

func (a *Account) add(t Thing) *Thing {
	if t.ID == "" {
		a.serial++
		t.ID = fmt.Sprintf("%s-%08d", t.Kind, a.serial)
	}
	if t.Made.IsZero() {
		t.Made = a.Epoch
	}
	for _, m := range []*map[string]string{&t.Tags, &t.Refs} {
		*m = maps.Clone(*m)
		if *m == nil {
			*m = map[string]string{}
		}
	}
	if t.Lists == nil {
		t.Lists = map[string][]string{}
	}
	a.things[address(t.Region, t.Kind, t.ID)] = &t
	return &t
}

func (a *Account) find(region, kind, id string) *Thing { return a.things[address(region, kind, id)] }

func (a *Account) remove(t *Thing) { delete(a.things, address(t.Region, t.Kind, t.ID)) }

// all lists the things of a kind, by id.
func (a *Account) all(region, kind string) []*Thing {
	var list []*Thing
	for _, t := range a.things {
		if t.Region == region && t.Kind == kind {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(x, y *Thing) int { return strings.Compare(x.ID, y.ID) })
	return list
}

// turn begins a change of state that ends after some looks. "" as the end removes
// the thing.
func (a *Account) turn(t *Thing, now, end string) {
	t.State, t.next, t.looks = now, end, a.Looks
}

// look is one look at a thing. It tells whether it is still there.
func (a *Account) look(t *Thing) bool {
	if t.looks == 0 {
		return true
	}
	if t.looks--; t.looks > 0 {
		return true
	}
	if t.next == "" {
		a.vanish(t)
		return false
	}
	t.State = t.next
	if t.Kind == "nat" {
		a.detach(t)
	}
	return true
}

// vanish removes a thing with what it holds in networks.
func (a *Account) vanish(t *Thing) {
	a.detach(t)
	a.remove(t)
}

// detach removes the interfaces of a thing and frees the addresses on them.
func (a *Account) detach(t *Thing) {
	for _, eni := range a.all(t.Region, "eni") {
		if eni.Refs["holder"] != t.ID {
			continue
		}
		for _, eip := range a.all(t.Region, "eip") {
			if eip.Refs["eni"] == eni.ID {
				delete(eip.Refs, "eni")
			}
		}
		a.remove(eni)
	}
}

// Owned lists what belongs to someone: region, kind and id of each thing.
func (a *Account) Owned(owner string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	for name, t := range a.things {
		if t.Owner == owner && (t.Kind != "nat" || t.State != "deleted") && t.State != "DELETE_COMPLETE" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Dump is everything that belongs to someone, down to the last rule and version.
func (a *Account) Dump(owner string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var lines []string
	for _, t := range a.things {
		if t.Owner == owner {
			text, _ := json.Marshal(t) // strings, maps and times only
			lines = append(lines, string(text))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Thing returns a thing of a kind by its id, wherever it is.
func (a *Account) Thing(kind, id string) *Thing {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.things {
		if t.Kind == kind && t.ID == id {
			return t
		}
	}
	return nil
}

// Remove takes things of a kind out of the account, wherever they are.
func (a *Account) Remove(kind, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.things {
		if t.Kind == kind && t.ID == id {
			a.vanish(t)
		}
	}
	for _, t := range a.things {
		if t.Kind == "eip" && kind == "eni" && t.Refs["eni"] == id {
			delete(t.Refs, "eni")
		}
	}
}

// Calls lists the calls so far, like "ec2:DescribeVpcs".
func (a *Account) Calls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

// Changes are the calls that change something.
func (a *Account) Changes() []string {
	return slices.DeleteFunc(a.Calls(), func(call string) bool {
		_, action, _ := strings.Cut(call, ":")
		for _, reading := range []string{"Describe", "List", "Get", "Head"} {
			if strings.HasPrefix(action, reading) {
				return true
			}
		}
		return false
	})
}

// OnCall sets what is called after the effect of each call and before its answer.
func (a *Account) OnCall(hook func(n int, call string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.onCall = hook
}
