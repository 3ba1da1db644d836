package host_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/config"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	for want, argv := range map[string][]string{
		"om a/svc/b start --rid=app#1": {"om", "a/svc/b", "start", "--rid=app#1"},
		"sh -c 'exit 7'":               {"sh", "-c", "exit 7"},
		`echo '' '#x' 'it'\''s' '$a'`:  {"echo", "", "#x", "it's", "$a"},
		"'a*' '~' 'b\nc'":              {"a*", "~", "b\nc"},
	} {
		if got := host.Quote(argv); got != want {
			t.Errorf("%q: %s, want %s", argv, got, want)
		}
	}

	t.Run("a shell reads what was quoted", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			argv := rapid.SliceOfN(rapid.StringMatching(`[a-z '"\\$#*~\n;&|é-]{0,6}`), 1, 4).Draw(t, "argv")
			got, err := config.ParseShlex(host.Quote(argv))
			if diff := cmp.Diff(argv, got); err != nil || diff != "" {
				t.Error(host.Quote(argv), err, diff)
			}
		})
	})
}
