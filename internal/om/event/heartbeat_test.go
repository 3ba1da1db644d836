package event_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/event/eventtest"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestWhatIsPassedOnReadsBack(t *testing.T) {
	t.Parallel()
	passed := 0
	path := object.Path{Namespace: "root", Kind: object.KindSvc, Name: "web"}
	all := slices.DeleteFunc(eventtest.Every(), hasPath)
	all = append(all,
		event.ConfigFileConflict{Path: path, Node: "n1", Backup: "file", Lost: event.ConfigEdit{Node: "n2", Deleted: true}},
		event.InstanceConfigFor{Path: path, Node: "n1", Scope: []string{"n2"}},
		event.ObjectOrchestrationAccepted{ID: "1", Node: "n1", Path: path, GlobalExpect: "started"},
		event.ObjectOrchestrationRefused{ID: "1", Node: "n1", Path: path, Reason: "why"},
		event.ObjectOrchestrationEnd{ID: "1", Node: "n1", Path: path, Aborted: true},
	)
	for _, e := range all {
		text, err := event.Forward(e)
		if err != nil {
			continue
		}
		passed++
		back, err := event.Unforward(text)
		if err != nil {
			t.Errorf("%s: %v", e.Kind(), err)
		} else if diff := cmp.Diff(e, back); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.Kind(), diff)
		}
	}
	if passed != len(event.Forwarded()) {
		t.Errorf("%d kinds are passed on, %d listed", passed, len(event.Forwarded()))
	}
}

func hasPath(e event.Event) bool {
	return strings.HasPrefix(e.Kind(), "ObjectOrchestration") || e.Kind() == "ConfigFileConflict" || e.Kind() == "InstanceConfigFor"
}

func TestOnlyWhatIsPassedOnIsTakenOfAPeer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{}`, `{"k":"NodeFrozen","d":{}}`, `{"k":"JoinSuccess","d":[]}`, `{"k":"JoinSuccess"}`} {
		if e, err := event.Unforward([]byte(text)); err == nil {
			t.Errorf("%s is a %s", text, e.Kind())
		}
	}
}
