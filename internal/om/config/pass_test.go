package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// tower is a configuration where each key refers twice to the next one.
func tower(t failer, levels int, top string) *config.Document {
	t.Helper()
	var b strings.Builder
	b.WriteString("[env]\n")
	for i := range levels {
		fmt.Fprintf(&b, "k%d = {env.k%d}{env.k%d}\n", i, i+1, i+1)
	}
	fmt.Fprintf(&b, "k%d = %s\n", levels, top)
	return parse(t, b.String())
}

// counted counts the references an evaluator looks for.
func counted(d *config.Document, steps *int) *config.Evaluator {
	return &config.Evaluator{Doc: d, Lookup: func(string, string) (string, bool, error) {
		*steps++
		return "", false, nil
	}}
}

func TestEachKeyIsEvaluatedOnce(t *testing.T) {
	t.Parallel()

	t.Run("in a value", func(t *testing.T) {
		t.Parallel()
		steps := 0
		got, _, err := counted(tower(t, 10, "x"), &steps).Value("env", config.Option{Name: "k0"})
		if err != nil || len(got) != 1<<10 {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		if steps != 20 {
			t.Errorf("%d references were looked for, 20 are written", steps)
		}
	})
	t.Run("in a pass", func(t *testing.T) {
		t.Parallel()
		steps := 0
		ev := counted(tower(t, 10, "x"), &steps).Pass()
		for range 3 {
			for i := range 11 {
				if _, _, err := ev.Value("env", config.Option{Name: fmt.Sprintf("k%d", i)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if steps != 20 {
			t.Errorf("%d references were looked for, 20 are written", steps)
		}
		if ev.Pass() != ev {
			t.Error("a pass inside a pass is another one")
		}
	})
	t.Run("for each section that reads it", func(t *testing.T) {
		t.Parallel()
		ev := (&config.Evaluator{Doc: parse(t, "x = {y}\n[a]\ny = 1\n[b]\ny = 2\n")}).Pass()
		for section, want := range map[string]string{"a": "1", "b": "2"} {
			if got, _, err := ev.Value(section, config.Option{Name: "x"}); got != want || err != nil {
				t.Errorf("%s: got %q, %v, want %q", section, got, err, want)
			}
		}
	})
}

func TestNestedReferencesEndSoonAndNameTheKey(t *testing.T) {
	t.Parallel()
	for _, top := range []string{"", "x", "{nodename}"} {
		steps := 0
		ev := counted(tower(t, 40, top), &steps)
		lookup := ev.Lookup
		ev.Lookup = func(section, name string) (string, bool, error) {
			_, _, _ = lookup(section, name)
			return "", name == "nodename", nil
		}

		_, _, err := ev.Value("env", config.Option{Name: "k0"})

		if !errors.Is(err, config.ErrTooMuch) || !strings.Contains(err.Error(), "env.k") || strings.Contains(err.Error(), "reference {") {
			t.Errorf("%q: got %v", top, err)
		}
		if steps > 81 {
			t.Errorf("%q: %d references were looked for, 80 are written", top, steps)
		}
	}
}

func TestTheWorkOfAPassIsBounded(t *testing.T) {
	t.Parallel()
	steps := 0
	d := parse(t, "wide = "+strings.Repeat("{nodename}", 5000)+"\n")
	for i := range 100 {
		set(t, d, fmt.Sprintf("app#%d.x", i), "1")
	}
	ev := counted(d, &steps)
	ev.Lookup = func(_, name string) (string, bool, error) { steps++; return "n1", name == "nodename", nil }
	ev = ev.Pass()

	var err error
	for _, section := range d.Sections() {
		_, _, one := ev.Value(section, config.Option{Name: "wide"})
		err = errors.Join(err, one)
	}

	if !errors.Is(err, config.ErrTooMuch) || !strings.Contains(err.Error(), "at wide") {
		t.Errorf("got %v", err)
	}
	if steps > 200_001 {
		t.Errorf("%d references were looked for", steps)
	}
}

// lawPass: what a pass remembers changes no answer, whatever the order of the
// questions, errors included.
func lawPass(d *config.Document, questions []string, pass func(*config.Evaluator) *config.Evaluator) error {
	alone := &config.Evaluator{Doc: d}
	together := pass(alone)
	for _, q := range questions {
		o := config.Option{Name: q}
		want, _, wantErr := alone.Value("env", o)
		got, _, gotErr := together.Value("env", o)
		if diff := cmp.Diff([]string{want, fmt.Sprint(wantErr)}, []string{got, fmt.Sprint(gotErr)}); diff != "" {
			return fmt.Errorf("%s: %s", q, diff)
		}
	}
	return nil
}

func TestAPassAnswersAsIfEachQuestionWereAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Chains long enough to meet the bound on depth, and circles.
		n := rapid.IntRange(1, 90).Draw(t, "options")
		d := config.NewDocument()
		var names []string
		for i := range n {
			var text strings.Builder
			text.WriteString("v")
			for _, j := range rapid.SliceOfN(rapid.IntRange(0, n+2), 0, 2).Draw(t, "references") {
				if rapid.Bool().Draw(t, "next") {
					j = i + 1
				}
				fmt.Fprintf(&text, "{env.k%d}", j)
			}
			names = append(names, fmt.Sprintf("k%d", i))
			set(t, d, "env."+names[i], text.String())
		}
		set(t, d, fmt.Sprintf("env.k%d", n), "end")
		questions := rapid.SliceOfN(rapid.SampledFrom(names), 1, 20).Draw(t, "questions")
		if err := lawPass(d, questions, (*config.Evaluator).Pass); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a pass over another document breaks the law", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "[env]\nk0 = {env.k1}\nk1 = 1\n")
		stale := func(*config.Evaluator) *config.Evaluator {
			return (&config.Evaluator{Doc: parse(t, "[env]\nk0 = {env.k1}\nk1 = 2\n")}).Pass()
		}
		if err := lawPass(d, []string{"k0"}, stale); err == nil {
			t.Error("the law holds")
		}
	})
}
