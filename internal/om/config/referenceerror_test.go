package config_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

func TestReferencesInsideOthersAreOneBoundedError(t *testing.T) {
	t.Parallel()
	for nested, want := range map[int]string{
		1:  "reference {env.k1}: env.k1 is not set",
		3:  "reference {env.k1}: reference {env.k2}: reference {env.k3}: env.k3 is not set",
		4:  "reference {env.k1}: reference {env.k4}, 3 references further: env.k4 is not set",
		40: "reference {env.k1}: reference {env.k40}, 39 references further: env.k40 is not set",
	} {
		t.Run(strconv.Itoa(nested), func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			text.WriteString("[env]\n")
			for i := range nested {
				fmt.Fprintf(&text, "k%d = {env.k%d}\n", i, i+1)
			}
			doc, err := config.Parse([]byte(text.String()))
			if err != nil {
				t.Fatal(err)
			}
			e := &config.Evaluator{Doc: doc, Scope: config.Scope{Node: "n1"}}

			_, _, err = e.Value("env", config.Option{Name: "k0"})

			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}
