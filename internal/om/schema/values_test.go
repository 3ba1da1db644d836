package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

func TestValuesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	svc, node := schema.Object(object.KindSvc, nil), schema.Node()
	for _, c := range []struct {
		schema       *keyword.Schema
		config, want string // nothing: it is right
	}{
		{svc, "[DEFAULT]\napp = x y\n", `app: value "x y": not one word`},
		{svc, "[DEFAULT]\nparents = BAD/x/y/z\n", `parents: value "BAD/x/y/z": object path "bad/x/y/z" has 4 parts`},
		{svc, "[DEFAULT]\nparents = ok hard/nosuch/x\n", `unknown object kind "nosuch"`},
		{svc, "[DEFAULT]\nhard_affinity = db@\n", `"db@": no node after @`},
		{svc, "[DEFAULT]\nchildren = ./svc/db@n1 web ns1/vol/x\n", ""},
		{svc, "[DEFAULT]\nstatus_schedule = garbage\n", `status_schedule: value "garbage": "garbage" is no time range`},
		{svc, "[DEFAULT]\nstatus_schedule@n1 = ~02:00-04:00@30 mon-fri\n", ""},
		{svc, "[DEFAULT]\ntopology = flex\nflex_min = -1\n", `flex_min: value "-1": too small`},
		{svc, "[DEFAULT]\nplacement = nosuch\n", `placement: "nosuch" is not one of last start, load avg,`},
		{node, "[listener]\nport = 99999\n", `listener.port: value "99999": out of bounds: write a number from 1 to 65535`},
		{node, "[listener]\ntls_port = -1\n", `listener.tls_port: value "-1"`},
		{node, "[listener]\nacme_port = 0\n", ""},
		{node, "[asset]\nschedule = nightly\n", `asset.schedule: value "nightly"`},
		{node, "[compliance]\nschedule = nightly\n", `compliance.schedule: value "nightly"`},
		{node, "[backup#1]\nschedule = nightly\n", `backup#1.schedule: value "nightly"`},
		{node, "[pool#1]\nstatus_schedule = nightly\n", `pool#1.status_schedule: value "nightly"`},
		{node, "[hb#1]\ntype = unicast\nport = 0\n", `hb#1.port: value "0"`},
	} {
		t.Run(c.config, func(t *testing.T) {
			t.Parallel()
			doc, err := config.Parse([]byte(c.config))
			if err != nil {
				t.Fatal(err)
			}

			alerts := c.schema.Validate(&config.Evaluator{Doc: doc, Scope: config.Scope{Node: "n1"}, Options: c.schema.Options(doc)}, keyword.Context{})

			alerts = slices.DeleteFunc(alerts, func(a keyword.Alert) bool { return a.Level != keyword.LevelError })
			switch {
			case c.want == "" && len(alerts) > 0:
				t.Error(alerts)
			case c.want != "" && (len(alerts) != 1 || !strings.Contains(alerts[0].Comment, c.want)):
				t.Errorf("got %v, want %q", alerts, c.want)
			}
		})
	}
}
