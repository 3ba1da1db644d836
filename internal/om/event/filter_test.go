package event_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func statusUpdated() *event.Envelope {
	return event.New(event.InstanceStatusUpdated{
		Path: object.Path{Namespace: "root", Kind: object.KindSvc, Name: "hello"}, Node: "n1",
		Status: cluster.InstanceStatus{
			Avail: cluster.Up, Scale: 3,
			Resources: map[string]cluster.ResourceStatus{"app#1": {Status: cluster.Up, Optional: true, Tags: []string{"x", "y"}}},
		},
	}, time.Unix(0, 0), 7)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	e := statusUpdated()
	for filter, want := range map[string]bool{
		"":                                               true,
		"InstanceStatusUpdated":                          true,
		"InstanceConfigUpdated":                          false,
		"InstanceStatusUpdated,path=hello":               true,
		",path=hello,node=n1":                            true,
		"path=hello":                                     true,
		"path=other":                                     false,
		"nosuchlabel=":                                   false,
		".instance_status.avail=up":                      true,
		".data.instance_status.avail=up":                 true,
		".instance_status.avail!=up":                     false,
		".instance_status.avail!=down":                   true,
		".instance_status.nosuch!=up":                    false,
		".instance_status.scale>2":                       true,
		".instance_status.scale>=3":                      true,
		".instance_status.scale<3":                       false,
		".instance_status.scale<=10":                     true,
		".instance_status.scale>x":                       false,
		".instance_status.resources.app#1.optional=true": true,
		".instance_status.resources.app#1.tags[1]=y":     true,
		".instance_status.resources.app#1.tags[2]=y":     false,
		".instance_status=up":                            false,
		".labels.namespace=root":                         true,
		"InstanceStatusUpdated,path=hello,.instance_status.avail=down": false,
	} {
		f, err := event.ParseFilter(filter)
		if err != nil {
			t.Errorf("filter %q: %v", filter, err)
			continue
		}
		if got := f.Match(e); got != want {
			t.Errorf("filter %q matches %v, want %v", filter, got, want)
		}
	}
}

func TestBadFiltersAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]string{
		"Nosuch":                        `unknown kind "Nosuch"`,
		"InstanceStatusUpdated,,path=x": "empty condition",
		"InstanceStatusUpdated,path":    "has no operator",
		"path>x":                        "a label is compared with",
		"..a=1":                         "empty member",
		"=x":                            "a label is compared with",
		"InstanceStatusUpdated,.=1":     "empty member",
	} {
		if _, err := event.ParseFilter(filter); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("filter %q: error %v, want one about %q", filter, err, want)
		}
	}
}

func TestEventsEncodeLabelsFirstOnOneLine(t *testing.T) {
	t.Parallel()
	e := event.New(event.ConfigFileRemoved{Path: object.Path{Namespace: "root", Kind: object.KindSvc, Name: "a"}, File: "x\ny"}, time.Time{}, 1)
	want := `{"labels":{"namespace":"root","path":"a"},"path":"a","file":"x\ny"}`
	if got := string(e.Data()); got != want {
		t.Errorf("encoded\n%s\nwant\n%s", got, want)
	}
	if got := string(e.WithLabel("from", "cache").Data()); !strings.HasPrefix(got, `{"labels":{"from":"cache",`) {
		t.Errorf("with a label more: %s", got)
	}
	if _, ok := e.Labels["from"]; ok {
		t.Error("the label was added to the shared event")
	}
}

func TestAnEventThatCannotBeEncodedSaysSo(t *testing.T) {
	t.Parallel()
	e := event.New(event.InstanceStatusUpdated{Status: cluster.InstanceStatus{
		Resources: map[string]cluster.ResourceStatus{"a": {Info: map[string]any{"x": func() {}}}},
	}}, time.Time{}, 1)
	var doc map[string]any
	if err := json.Unmarshal(e.Data(), &doc); err != nil || doc["encoding_error"] == nil {
		t.Errorf("%s: %v", e.Data(), err)
	}
}

func FuzzParseFilter(f *testing.F) {
	f.Add("InstanceStatusUpdated,path=hello,.data.x=1")
	f.Add(".a.b[0]>=3,node=n1")
	f.Add(",,=")
	e := statusUpdated()
	f.Fuzz(func(t *testing.T, text string) {
		one, err := event.ParseFilter(text)
		if err != nil {
			return
		}
		two, err := event.ParseFilter(one.String())
		if err != nil {
			t.Fatalf("%q prints as %q, which does not parse: %v", text, one, err)
		}
		if one.String() != two.String() || one.Match(e) != two.Match(e) {
			t.Fatalf("%q is %q then %q", text, one, two)
		}
	})
}

func TestAFilterTellsWhatItNames(t *testing.T) {
	t.Parallel()
	f, err := event.ParseFilter("FileInstalled,rid=fs#1,.files[0]=/x")
	if err != nil {
		t.Fatal(err)
	}
	if f.Kind() != "FileInstalled" || !f.Has("rid") || f.Has("path") || f.Has(".files[0]") {
		t.Errorf("%q: kind %q", f, f.Kind())
	}
}
