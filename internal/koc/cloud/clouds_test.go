package cloud_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
)

// configured is a home with files and a session that reads them.
func configured(t *testing.T, files map[string]string, env map[string]string, set ...string) *cloud.Cloud {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		name = filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := map[string]string{"HOME": home, "XDG_CONFIG_DIRS": home + "/xdg"}
	for k, v := range env {
		e[k] = strings.ReplaceAll(v, "HOME", home)
	}
	return newFake().open(e, typed(set...))
}

const clouds = `
clouds:
  one:
    auth: &auth
      auth_url: http://cloud.test/identity
      username: anna
      project_name: demo
      user_domain_name: Default
    region_name: one
    interface: internal
    compute_api_version: 2.10
    volume_api_version: 3
    networks: [{name: net, default_interface: true}]
  two:
    auth:
      <<: *auth
      username: bert
    verify: false
    endpoint_type: admin
    interface: public
    cacert: ~/ca.pem
    api_timeout: 20
    compute_default_microversion: "2.79"
    block_storage_endpoint_override: http://cloud.test/v3/%(project_id)s
  alone: {region_name: [r1], auth: {auth_url: [http://a], auth_methods: [v3password, v3totp]}}
  listed: {region_name: [r1, r2]}
  commas: {region_name: "r1, r2"}
  many:
    auth: *auth
    regions:
    - name: east
      values:
        auth: {project_name: eastern}
        network_endpoint_override: http://east.test
    - west
  vendored:
    profile: acme
    auth: {username: carl}
  broken: 7
`

const secure = `clouds: {one: {auth: {password: from-secure}}, many: {auth: {password: ""}}}`

func TestANamedCloud(t *testing.T) {
	t.Parallel()
	where := ".config/openstack/"
	files := map[string]string{where + "clouds.yaml": clouds, where + "secure.yaml": secure, where + "clouds-public.yaml": `public-clouds: {acme: {auth: {auth_url: http://acme.test, username: nobody}, region_name: r1}}`}
	for _, c := range []struct {
		name string
		env  map[string]string
		set  []string
		want map[string]string
	}{
		{"is read with its secrets, numbers as they are written", map[string]string{"OS_CLOUD": "one"}, nil, map[string]string{
			"username": "anna", "password": "from-secure", "region_name": "one", "interface": "internal", "compute_api_version": "2.10", "volume_api_version": "3",
			"networks": `[{"default_interface":"true","name":"net"}]`,
		}},
		{"is chosen by flag first", map[string]string{"OS_CLOUD": "one"}, []string{"cloud", "two"}, map[string]string{
			"username": "bert", "auth_url": "http://cloud.test/identity", "insecure": "true", "interface": "admin", "timeout": "20", "password": "",
		}},
		{"is not mixed with an openrc", map[string]string{"OS_CLOUD": "two", "OS_USERNAME": "leftover", "OS_PASSWORD": "leftover", "OS_REGION_NAME": "leftover", "OS_CACERT": "leftover"}, nil, map[string]string{
			"username": "bert", "password": "", "region_name": "", "cacert": "~/ca.pem",
		}},
		{"yields to what is typed", map[string]string{"OS_CLOUD": "one"}, []string{"username", "typed", "region_name", "r2"}, map[string]string{"username": "typed", "region_name": "r2", "password": "from-secure"}},
		{"yields to a version of the environment", map[string]string{"OS_CLOUD": "one", "OS_COMPUTE_API_VERSION": "2.53"}, nil, map[string]string{"compute_api_version": "2.53"}},
		{"yields to the certificate check of the environment", map[string]string{"OS_CLOUD": "two", "OS_INSECURE": "false"}, nil, map[string]string{"insecure": "false"}},
		{"may have lists of one", map[string]string{"OS_CLOUD": "alone"}, nil, map[string]string{"region_name": "r1", "auth_url": "http://a", "auth_methods": `["v3password","v3totp"]`}},
		{"is used in the first of its listed regions", map[string]string{"OS_CLOUD": "listed"}, nil, map[string]string{"region_name": "r1"}},
		{"is used in one of its listed regions", map[string]string{"OS_CLOUD": "listed"}, []string{"region_name", "r2"}, map[string]string{"region_name": "r2"}},
		{"has regions with commas between", map[string]string{"OS_CLOUD": "commas"}, nil, map[string]string{"region_name": "r1"}},
		{"is used in one of those between commas", map[string]string{"OS_CLOUD": "commas"}, []string{"region_name", "r2"}, map[string]string{"region_name": "r2"}},
		{"is used in its first region", map[string]string{"OS_CLOUD": "many"}, nil, map[string]string{"region_name": "east", "project_name": "eastern", "network_endpoint_override": "http://east.test"}},
		{"is used in a region of its own", map[string]string{"OS_CLOUD": "many"}, []string{"region_name", "west"}, map[string]string{"region_name": "west", "project_name": "demo", "network_endpoint_override": ""}},
		{"builds on a profile", map[string]string{"OS_CLOUD": "vendored"}, nil, map[string]string{"auth_url": "http://acme.test", "username": "carl", "region_name": "r1"}},
		{"is not needed: envvars is the environment", map[string]string{"OS_CLOUD": "envvars", "OS_USERNAME": "env"}, nil, map[string]string{"username": "env", "interface": "public"}},
		{"is no default among several", nil, nil, map[string]string{"username": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			session := configured(t, files, c.env, c.set...)
			if _, err := session.Settings(t.Context()); err != nil {
				t.Fatal(err)
			}

			for name, want := range c.want {
				if got := session.Setting(t.Context(), name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestACloudThatIsAmiss(t *testing.T) {
	t.Parallel()
	where := ".config/openstack/"
	for _, c := range []struct {
		name  string
		files map[string]string
		env   map[string]string
		set   []string
		want  []string
	}{
		{"unknown", map[string]string{where + "clouds.yaml": clouds}, map[string]string{"OS_CLOUD": "thr"}, nil, []string{`OS_CLOUD: there is no cloud "thr" in`, "clouds.yaml: it has alone, broken, commas, listed, many, one, two, vendored"}},
		{"without a file", nil, map[string]string{"OS_CLOUD": "one"}, nil, []string{`cloud "one"`, "there is no clouds.yaml: looked for clouds.yaml,"}},
		{"with a file that is elsewhere", nil, map[string]string{"OS_CLOUD": "one", "OS_CLIENT_CONFIG_FILE": "HOME/gone.yaml"}, nil, []string{"OS_CLIENT_CONFIG_FILE", "gone.yaml"}},
		{"no mapping", map[string]string{where + "clouds.yaml": clouds}, map[string]string{"OS_CLOUD": "broken"}, nil, []string{`cloud "broken"`, "no mapping"}},
		{"no YAML", map[string]string{where + "clouds.yaml": "clouds: [\n"}, map[string]string{"OS_CLOUD": "one"}, nil, []string{"clouds.yaml: yaml:", "line"}},
		{"with several addresses where one belongs", map[string]string{where + "clouds.yaml": "clouds: {a: {interface: [public, admin], auth: {auth_url: [http://a, http://b], password: '[x]'}}}"}, map[string]string{"OS_CLOUD": "a"}, nil, []string{"auth.auth_url has several values: give one", "interface has several values: give one"}},
		{"in a region that is not in its list", map[string]string{where + "clouds.yaml": clouds}, map[string]string{"OS_CLOUD": "listed"}, []string{"region_name", "r7"}, []string{`region "r7" is none of its regions r1, r2`}},
		{"in a region it does not have", map[string]string{where + "clouds.yaml": clouds}, map[string]string{"OS_CLOUD": "many"}, []string{"region_name", "north"}, []string{`region "north" is none of its regions east, west`}},
		{"without its profile", map[string]string{where + "clouds.yaml": clouds}, map[string]string{"OS_CLOUD": "vendored"}, nil, []string{`profile "acme"`, "clouds-public.yaml"}},
		{"neither verified nor not", map[string]string{where + "clouds.yaml": "clouds: {a: {verify: perhaps}}"}, nil, nil, []string{"cloud a in", `clouds.yaml: verify="perhaps"`}},
		{"for a time that is none", map[string]string{where + "clouds.yaml": "clouds: {a: {api_timeout: soon}}"}, nil, nil, []string{"cloud a in", `clouds.yaml: api_timeout="soon"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			_, err := configured(t, c.files, c.env, c.set...).Settings(t.Context())

			wants(t, err, c.want...)
		})
	}
}

func TestWhereCloudsAreLookedFor(t *testing.T) {
	t.Parallel()
	entry := func(user string) string {
		return `{"clouds": {"only": {"auth": {"auth_url": "http://a", "username": "` + user + `"}}}}`
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		env   map[string]string
		want  string
	}{
		{"the only cloud is the default", map[string]string{".config/openstack/clouds.yaml": entry("yaml")}, nil, "yaml"},
		{"not beside an openrc", map[string]string{".config/openstack/clouds.yaml": entry("yaml")}, map[string]string{"OS_AUTH_URL": "http://b", "OS_USERNAME": "env"}, "env"},
		{"with another ending", map[string]string{".config/openstack/clouds.json": entry("json")}, nil, "json"},
		{"yaml before yml", map[string]string{".config/openstack/clouds.yaml": entry("yaml"), ".config/openstack/clouds.yml": entry("yml")}, nil, "yaml"},
		{"the user's before the site's", map[string]string{".config/openstack/clouds.yml": entry("user"), "xdg/openstack/clouds.yaml": entry("site")}, nil, "user"},
		{"the site's", map[string]string{"xdg/openstack/clouds.yaml": entry("site")}, nil, "site"},
		{"in XDG_CONFIG_HOME", map[string]string{"c/openstack/clouds.yaml": entry("xdg")}, map[string]string{"XDG_CONFIG_HOME": "HOME/c"}, "xdg"},
		{"where the variable says", map[string]string{".config/openstack/clouds.yaml": entry("user"), "my.yaml": entry("mine")}, map[string]string{"OS_CLIENT_CONFIG_FILE": "~/my.yaml"}, "mine"},
		{"secrets where their variable says", map[string]string{"my.yaml": entry("mine"), "s.yaml": entry("secret")}, map[string]string{"OS_CLIENT_CONFIG_FILE": "~/my.yaml", "OS_CLIENT_SECURE_FILE": "~/s.yaml"}, "secret"},
		{"secrets beside the file", map[string]string{"d/my.yaml": entry("mine"), "d/secure.yaml": entry("secret")}, map[string]string{"OS_CLIENT_CONFIG_FILE": "~/d/my.yaml"}, "secret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			if got := configured(t, c.files, c.env).Setting(t.Context(), "username"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSettingsSayWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	session := newFake().open(openrc("OS_COMPUTE_API_VERSION", "2.1"), typed("region_name", "r"))

	all, err := session.Settings(t.Context())

	got := map[string]string{}
	for _, s := range all {
		if s.Secret != (s.Name == "auth.password") {
			t.Errorf("%s: secret %v", s.Name, s.Secret)
		}
		got[s.Name] = s.Source
	}
	want := map[string]string{
		"auth.auth_url": "OS_AUTH_URL", "auth.username": "OS_USERNAME", "auth.password": "OS_PASSWORD", "auth.project_name": "OS_PROJECT_NAME",
		"auth.user_domain_id": "OS_USER_DOMAIN_ID", "auth.project_domain_id": "OS_PROJECT_DOMAIN_ID",
		"compute_api_version": "OS_COMPUTE_API_VERSION", "region_name": "--os-region-name", "interface": "default",
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestAProfileThatIsServed(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("GET vendor.test/.well-known/openstack/api", 200, `{"name":"v","profile":{"auth":{"auth_url":"http://v.test"},"region_name":"r9"}}`)
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("clouds: {a: {profile: 'http://vendor.test', auth: {username: u}}}"), 0o600); err != nil {
		t.Fatal(err)
	}

	session := f.open(map[string]string{"OS_CLIENT_CONFIG_FILE": file})

	if got := session.Setting(t.Context(), "auth_url") + " " + session.Region(t.Context()) + " " + session.Setting(t.Context(), "username"); got != "http://v.test r9 u" {
		_, err := session.Settings(t.Context())
		t.Error(got, err)
	}
}

func TestBooleans(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"Yes": true, "1": true, "ENABLED": true, "": false, "off": false, "F": false} {
		if got, err := cloud.ParseBool(text); got != want || err != nil {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"2", "maybe", "tru", "yes no"} {
		if _, err := cloud.ParseBool(text); err == nil {
			t.Errorf("%q is a boolean", text)
		}
	}
}

func FuzzCloudsYAML(f *testing.F) {
	for _, s := range []string{clouds, secure, "a: &a [*a]", "a: &a {b: *a}", "<<: {a: 1}", "<<: [{a: 1}, 2]", "- 1", "null", "? [a]: b", "clouds: {x: {auth: null, regions: [1, {name: null}]}}", `{"a": "b"}`, `clouds: {x: {"": "000"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := cloud.ParseTree(text); err != nil {
			return
		}
		file := filepath.Join(t.TempDir(), "clouds.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		// Whatever it says, reading it ends, and without a panic.
		for _, name := range []string{"", "one", "x"} {
			session := newFake().open(map[string]string{"OS_CLIENT_CONFIG_FILE": file, "OS_CLIENT_SECURE_FILE": file, "OS_CLIENT_VENDOR_FILE": file, "OS_CLOUD": name})
			all, err := session.Settings(t.Context())
			for _, s := range all {
				if err == nil && (s.Name == "" || s.Value == "" || s.Source == "") {
					t.Errorf("setting %+v", s)
				}
			}
		}
	})
}
