package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

func TestWhatIsWrittenTwiceIsRefusedWhenHandedOver(t *testing.T) {
	t.Parallel()
	s := open(t)
	const twice = "[env]\na = 1\na = 2\n\n[env]\nb = 1\n"
	s.write(t, "web.conf", "[env]\na = 1\n")

	for how, give := range map[string]func() (store.Committed, error){
		"created": func() (store.Committed, error) {
			return s.Create(t.Context(), path(t, "new"), parse(t, twice), store.CreateOptions{})
		},
		"restored": func() (store.Committed, error) {
			return s.Create(t.Context(), path(t, "new"), parse(t, twice), store.CreateOptions{Restore: true})
		},
		"replaced": func() (store.Committed, error) { return s.Replace(t.Context(), path(t, "web"), []byte(twice)) },
	} {
		_, err := give()

		var invalid *store.InvalidError
		if !errors.As(err, &invalid) {
			t.Fatalf("%s: %v", how, err)
		}
		want := []keyword.Alert{
			{Level: keyword.LevelError, Kind: keyword.AlertDuplicate, Section: "env", Option: "a", Comment: "env.a: written 2 times, on lines 2, 3: write it once"},
			{Level: keyword.LevelError, Kind: keyword.AlertDuplicate, Section: "env", Comment: "section env: written 2 times, on lines 1, 5: write it once"},
		}
		if diff := cmp.Diff(want, invalid.Alerts); diff != "" {
			t.Errorf("%s: %s", how, diff)
		}
	}
}

func TestWhatIsWrittenTwiceInPlaceIsWarnedOf(t *testing.T) {
	t.Parallel()
	s := open(t)
	const twice = "[DEFAULT]\nid = " + oneID + "\n\n[env]\na = 1\na = 2\n"
	s.write(t, "web.conf", twice)

	alerts := s.Validate(path(t, "web"), parse(t, twice))
	_, err := s.Update(t.Context(), path(t, "web"), set(t, "env.b=1"))

	if len(alerts) != 1 || alerts[0].Level != keyword.LevelWarning || alerts[0].Kind != keyword.AlertDuplicate || err != nil {
		t.Errorf("%v, %v", alerts, err)
	}
}
