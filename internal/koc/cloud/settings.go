package cloud

import (
	"cmp"
	"slices"
	"strings"
)

// Setting is one effective setting and where it came from.
type Setting struct {
	Name   string // as in clouds.yaml; those of its auth section begin with "auth."
	Value  string
	Source string // "--os-auth-url", "OS_AUTH_URL", "cloud test in /etc/openstack/clouds.yaml", "default"
	Secret bool

	level int
	many  bool // a list stands where one text is wanted
}

// Levels of settings: a lower one wins.
const (
	typed = iota
	asked // by the environment, for what is no part of an identity
	stated
	assumed // default
)

type settings struct {
	cloud  string // name of the cloud, "" for none
	values map[string]Setting
}

// text is the value of a setting, by its name without "auth.".
func (s *settings) text(name string) string { return s.values[name].Value }

// level is where a setting came from; that of an absent one is beyond all others.
func (s *settings) level(names ...string) int {
	best := assumed + 1
	for _, name := range names {
		if v := s.values[name]; v.Value != "" {
			best = min(best, v.level)
		}
	}
	return best
}

// put keeps a value unless there is one of a level that wins.
func (s *settings) put(name, value, source string, level int) {
	if value == "" || name == "" {
		return
	}
	if old, ok := s.values[name]; ok && old.level <= level {
		return
	}
	k := keyOf(name)
	full := name
	if k.auth {
		full = "auth." + name
	}
	s.values[name] = Setting{Name: full, Value: value, Source: source, Secret: k.secret || secretName(name), level: level}
}

// origin is where the value came from, with the name it has in a file.
func (v Setting) origin(key string) string {
	if v.level == typed || !strings.Contains(v.Source, " ") {
		return v.Source // the name of a flag or a variable
	}
	return v.Source + ": " + key
}

func (s *settings) sorted() []Setting {
	all := make([]Setting, 0, len(s.values))
	for _, v := range s.values {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// key is a setting koc knows.
type key struct {
	name   string // in clouds.yaml
	auth   bool   // it is in the auth section there
	secret bool
	// own settings are no part of an identity: the environment counts beside a
	// named cloud too.
	own bool
	env string // more names in the environment than OS_ and its own, space between
}

// flag is how a setting is typed.
func (k key) flag() string {
	switch k.name {
	case "insecure", "timeout", "verify":
		return "--" + k.name
	case "keyvrm_endpoint_override":
		return "--keyvrm-endpoint"
	}
	return "--os-" + strings.ReplaceAll(k.name, "_", "-")
}

func (k key) envs() []string {
	return append([]string{"OS_" + strings.ToUpper(k.name)}, strings.Fields(k.env)...)
}

// known reports whether koc uses a setting.
func known(name string) bool {
	return slices.ContainsFunc(keys[:], func(k key) bool { return k.name == name })
}

func keyOf(name string) key {
	for _, k := range keys[:] {
		if k.name == name {
			return k
		}
	}
	return key{name: name}
}

var keys = [...]key{
	{name: "auth_type"},
	{name: "auth_url", auth: true},
	{name: "username", auth: true, env: "OS_USER_NAME"},
	{name: "user_id", auth: true},
	{name: "password", auth: true, secret: true},
	{name: "passcode", auth: true, secret: true},
	{name: "auth_methods", auth: true},
	{name: "token", auth: true, secret: true},
	{name: "user_domain_name", auth: true},
	{name: "user_domain_id", auth: true},
	{name: "project_name", auth: true, env: "OS_TENANT_NAME"},
	{name: "project_id", auth: true, env: "OS_TENANT_ID"},
	{name: "project_domain_name", auth: true},
	{name: "project_domain_id", auth: true},
	{name: "domain_name", auth: true},
	{name: "domain_id", auth: true},
	{name: "default_domain"},
	{name: "default_domain_id", auth: true},
	{name: "default_domain_name", auth: true},
	{name: "system_scope", auth: true},
	{name: "trust_id", auth: true},
	{name: "application_credential_id", auth: true},
	{name: "application_credential_name", auth: true},
	{name: "application_credential_secret", auth: true, secret: true},
	{name: "identity_provider", auth: true},
	{name: "protocol", auth: true},
	{name: "client_id", auth: true},
	{name: "client_secret", auth: true, secret: true},
	{name: "openid_scope", auth: true},
	{name: "discovery_endpoint", auth: true},
	{name: "access_token_endpoint", auth: true},
	{name: "access_token_type", auth: true},
	{name: "access_token", auth: true, secret: true},
	{name: "device_authorization_endpoint", auth: true},
	{name: "code", auth: true, secret: true},
	{name: "redirect_uri", auth: true},
	{name: "endpoint", auth: true, env: "OS_URL"},
	{name: "service_provider", auth: true},
	{name: "remote_project_name", auth: true},
	{name: "remote_project_id", auth: true},
	{name: "remote_project_domain_name", auth: true},
	{name: "remote_project_domain_id", auth: true},
	{name: "region_name"},
	{name: "interface", env: "OS_ENDPOINT_TYPE"},
	{name: "cacert"},
	{name: "cert"},
	{name: "key"},
	{name: "force_ipv4"},
	{name: "insecure", own: true},
	{name: "timeout", own: true},
	{name: "compute_api_version", own: true},
	{name: "volume_api_version", own: true},
	{name: "image_api_version", own: true},
	{name: "network_api_version", own: true},
	{name: "identity_api_version", own: true},
	{name: "baremetal_api_version", own: true},
	{name: "placement_api_version", own: true},
	{name: "dns_api_version", own: true},
	{name: "loadbalancer_api_version", own: true},
	{name: "object_store_api_version", own: true},
}
