package keyword_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

// counted counts the references an evaluator looks for.
func counted(tb testing.TB, s *keyword.Schema, text string, steps *int) *config.Evaluator {
	tb.Helper()
	d := document(tb, text)
	return &config.Evaluator{
		Doc: d, Options: s.Options(d),
		Lookup: func(_, name string) (string, bool, error) { *steps++; return "n1", name == "nodename", nil },
	}
}

// tower is a section where each key refers twice to the next one.
func tower(levels int) string {
	var b strings.Builder
	b.WriteString("[env]\n")
	for i := range levels {
		fmt.Fprintf(&b, "k%d = {env.k%d}{env.k%d}\n", i, i+1, i+1)
	}
	fmt.Fprintf(&b, "k%d = \n", levels)
	return b.String()
}

func TestAConfigurationIsValidatedInOnePass(t *testing.T) {
	t.Parallel()

	t.Run("each reference is looked for once", func(t *testing.T) {
		t.Parallel()
		steps := 0
		s := schema()
		alerts := s.Validate(counted(t, s, tower(10), &steps), keyword.Context{})
		if len(alerts) > 0 || steps != 20 {
			t.Errorf("%d references were looked for, 20 are written; %v", steps, alerts)
		}
	})
	t.Run("nested references end soon and name the key", func(t *testing.T) {
		t.Parallel()
		steps := 0
		s := schema()
		alerts := s.Validate(counted(t, s, tower(40), &steps), keyword.Context{})
		if len(alerts) != 1 || alerts[0].Level != keyword.LevelError || !strings.HasPrefix(alerts[0].Comment, "env.k0: too much to evaluate") || steps > 80 {
			t.Errorf("%d references were looked for, 80 are written; %v", steps, alerts)
		}
	})
	t.Run("a wide default read by many sections ends too", func(t *testing.T) {
		t.Parallel()
		steps := 0
		s := schema()
		var text strings.Builder
		text.WriteString("run_schedule = " + strings.Repeat("{nodename}", 5000) + "\n")
		for i := range 1000 {
			fmt.Fprintf(&text, "[app#%d]\ntype = simple\nstart = x\n", i)
		}
		alerts := s.Validate(counted(t, s, text.String(), &steps), keyword.Context{})
		if steps > 200_001 || len(alerts) == 0 || !strings.Contains(alerts[len(alerts)-1].Comment, "run_schedule: too much to evaluate") {
			t.Errorf("%d references were looked for, %d alerts", steps, len(alerts))
		}
	})
	t.Run("keywords are declared once for each driver", func(t *testing.T) {
		t.Parallel()
		s := schema()
		built := 0
		for i := range s.Sections {
			for typ, build := range s.Sections[i].Types {
				s.Sections[i].Types[typ] = func() *keyword.Table { built++; return build() }
			}
		}
		validate := func(n int) int {
			built = 0
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "nosuch%d = 1\n", i)
			}
			for i := range n {
				fmt.Fprintf(&b, "[app#%d]\ntype = simple\nstart = x\nnosuch = 1\n", i)
			}
			d := document(t, b.String())
			alerts := s.Validate(&config.Evaluator{Doc: d}, keyword.Context{})
			if len(alerts) != 2*n {
				t.Errorf("%d alerts", len(alerts))
			}
			return built
		}
		if few, many := validate(2), validate(100); few != many {
			t.Errorf("%d tables are built for 2 sections, %d for 100", few, many)
		}
	})
	t.Run("a value with many wrong names is told of some", func(t *testing.T) {
		t.Parallel()
		s := ruled()
		var text strings.Builder
		text.WriteString("[fs#1]\nrequires =")
		for i := range 1000 {
			fmt.Fprintf(&text, " fs#x%d", i)
		}
		d := document(t, text.String()+"\n")
		if n := len(s.Validate(&config.Evaluator{Doc: d}, keyword.Context{})); n != 10 {
			t.Errorf("%d alerts", n)
		}
	})
}

func TestDecodingIsOnePass(t *testing.T) {
	t.Parallel()
	steps := 0
	s := schema()
	ev := counted(t, s, "[app#1]\ntype = simple\nstart = {env.k0}\ntags = {env.k0}\n"+tower(10), &steps)

	app := keyword.Table{}
	app.String(new(string), "start", "")
	app.String(new(string), "tags", "")
	err := keyword.Decode(ev, "app#1", &app, keyword.Context{})

	if err != nil || steps != 22 {
		t.Errorf("%d references were looked for, 22 are written; %v", steps, err)
	}
}

// BenchmarkValidateLarge validates N keys of one section, and N sections: the
// time for each of them should not depend on N.
func BenchmarkValidateLarge(b *testing.B) {
	for _, n := range []int{250, 1000, 4000} {
		var keys, sections strings.Builder
		keys.WriteString("[env]\n")
		for i := range n {
			fmt.Fprintf(&keys, "k%d = {nodename}\n", i)
			fmt.Fprintf(&sections, "[app#%d]\ntype = simple\nstart = {nodename}\n", i)
		}
		for name, text := range map[string]string{"keys": keys.String(), "sections": sections.String(), "unknown": strings.ReplaceAll(keys.String(), "env", "app#1]\ntype=simple\n#")} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				s, steps := schema(), 0
				for b.Loop() {
					s.Validate(counted(b, s, text, &steps), keyword.Context{})
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
			})
		}
	}
}
