package keyword_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

func TestFormsTakeWhatIsOfTheFormAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule       func(string) error
		good, evil []string
	}{
		"command":   {keyword.Command, []string{"/bin/true", "a | b", `echo "a b"`}, []string{`"a`, `a\`}},
		"file":      {keyword.File, []string{"/", "/srv/a..b"}, []string{"a", "../a", "/a\nb"}},
		"url":       {keyword.URL, []string{"https://a.b/c?d=e", "http://[::1]:80"}, []string{"a.b", "ftp://a", "https://", "https://a:0", "https://a b", "https://:1"}},
		"server":    {keyword.Server, []string{"a", "a:1", "192.0.2.1:1", "2001:db8::1", "[2001:db8::1]:1", "https://a"}, []string{":1", "a:", "a:x", "a:65536", "a/b", "[a"}},
		"host":      {keyword.Host, []string{"a", "a-b.c_d.", "192.0.2.1", "::1"}, []string{"-a", "a..b", "a b", "a/b", "a:1"}},
		"multicast": {keyword.Multicast, []string{"224.3.29.71", "ff02::1"}, []string{"10.0.0.1", "x"}},
		"network":   {keyword.Network, []string{"10.0.0.0/8", "fd01::/64"}, []string{"10.0.0.0", "10.0.0.0/33", "x/1"}},
		"interface": {keyword.Interface, []string{"eth0", "br-a.1"}, []string{"a b", "a/b", "..", "sixteen-letters-"}},
		"account":   {keyword.Account, []string{"0", "www-data", "svc$", `CORP\alice`, "alice@corp"}, []string{"-1", "a:b", "a/b", "4294967296", "a b", "-x"}},
		"sec":       {keyword.Sec, []string{"a", "./sec/a", "ns1/sec/a"}, []string{"ns1/cfg/a", "../a", "a/b/c/d", "A B"}},
		"secret":    {keyword.Secret, []string{"system/sec/a", "from system/sec/a key password"}, []string{"from system/cfg/a key b", "from a", "ns1/cfg/a"}},
		"vol":       {keyword.Vol, []string{"a", "templates/a", "templates/vol/a", "./vol/a"}, []string{"templates/cfg/a", "a/b/c/d", "../a"}},
		"numbers":   {keyword.Numbers, []string{"0", "0-2,5"}, []string{"2-1", "a", "0,", "-1", "0 1"}},
		"quota":     {keyword.Quota, []string{"50%", "50%@all", "10%@2", "100"}, []string{"x", "50%@", "-5%", "50%@0"}},
		"amount":    {keyword.Amount, []string{"10", "250m", "800%", "100%@8"}, []string{"plenty", "50%@all", "-1"}},
		"variables": {keyword.Variables, []string{"A=b/c b/c", `"A=b/c"`}, []string{"a", "A=b", "A=/c", "=b/c", `"`}},
		"among":     {keyword.Among("a", "b"), []string{"a", " b "}, []string{"c", "a b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range append(c.good, "") {
				if err := c.rule(text); err != nil {
					t.Errorf("%q: %v", text, err)
				}
			}
			for _, text := range c.evil {
				if c.rule(text) == nil {
					t.Errorf("%q is taken", text)
				}
			}
		})
	}
}
