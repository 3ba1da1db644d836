package move_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/krops/move"
)

// garbler answers questions about a path in its own way.
type garbler struct {
	next  http.RoundTripper
	about string
	code  int
	body  string
}

func (g garbler) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, g.about) {
		return g.next.RoundTrip(r)
	}
	return &http.Response{StatusCode: g.code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(g.body)), Request: r}, nil
}

func TestWhatIsNotKnownIsNeverTakenForNothing(t *testing.T) {
	t.Parallel()
	for how, answer := range map[string]struct {
		code int
		body string
	}{
		"no such page":      {404, "404 page not found"},
		"an empty object":   {200, "{}"},
		"another kind":      {200, `{"apiVersion":"v1","kind":"Status","metadata":{}}`},
		"a list of others":  {200, `{"apiVersion":"v1","kind":"PodList","items":[]}`},
		"unauthorized":      {401, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`},
		"forbidden":         {403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`},
		"not found, of one": {404, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`},
	} {
		for _, about := range []string{"/clusters", "/machines", "/secrets", "/customresourcedefinitions", "/configmaps/krops-move"} {
			t.Run(how+" "+about, func(t *testing.T) {
				t.Parallel()
				source, target := pair(t)
				l := watch(source, target)
				garbled := through{source, func(next http.RoundTripper) http.RoundTripper { return garbler{next, about, answer.code, answer.body} }}

				if found, err := move.Look(context.Background(), garbled, ns); err == nil {
					t.Errorf("the cluster has %+v", found)
				}
				if _, err := move.Move(context.Background(), options(garbled, target)); err == nil {
					t.Error("it is moved")
				}
				if err := l.untouched(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
