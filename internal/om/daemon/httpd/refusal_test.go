package httpd_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Whatever the operation, what is wrong is named in a problem document, before
// anything is done.
func TestEveryOperationRefusesWhatItDoesNotKnowByName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, "ns1/svc/web1", "[env]\na = 1\n")
	token := "Bearer " + f.token(t, "root")
	before := len(f.deeds.all())
	for _, endpoint := range api.All() {
		d := endpoint.Describe()
		if d.Need == rbac.ThroughSocket || d.Need == rbac.NeedCredential {
			continue
		}
		request := target(d, "svc", "web1")
		separator := "?"
		if strings.Contains(request, "?") {
			separator = "&"
		}
		got := f.plain(t, d.Method, request+separator+"nosuch=1", token, strings.NewReader("{}"))
		if got.Status == http.StatusUnauthorized || got.Status == http.StatusForbidden && d.Need != rbac.NeedRoot {
			continue // for who presents something else than this token
		}
		var problem api.Problem
		if got.Status != http.StatusBadRequest || got.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: status %d, %s: %s", d.ID, got.Status, got.Header.Get("Content-Type"), got.Body)
			continue
		}
		decode(t, got.Body, &problem)
		if problem.Status != got.Status || problem.Title != "Bad Request" || !strings.Contains(problem.Detail, "nosuch") {
			t.Errorf("%s: %+v", d.ID, problem)
		}
	}
	if done := f.deeds.all(); len(done) != before {
		t.Errorf("done all the same: %v", done[before:])
	}
}
