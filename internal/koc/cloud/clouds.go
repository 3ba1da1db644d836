package cloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// load finds the effective settings.
func (c *Cloud) load(ctx context.Context) (*settings, error) {
	s := &settings{values: map[string]Setting{}}
	if insecure, err := ParseBool(c.options.Set["insecure"]); err == nil && insecure {
		if verify, err := ParseBool(c.options.Set["verify"]); err == nil && verify {
			return nil, errors.New("--insecure and --verify exclude each other: give one of them")
		}
	}
	for name, value := range c.options.Set {
		if on, err := ParseBool(value); name == "verify" && err == nil {
			s.put("insecure", strconv.FormatBool(!on), "--verify", typed)
		} else if name != "cloud" {
			k := keyOf(name)
			s.put(name, value, k.flag(), typed)
		}
	}
	env := c.options.Env
	if bad := unusable(env); len(bad) > 0 {
		return nil, errors.New("unusable environment variable(s): " + strings.Join(bad, "; "))
	}
	files := files{env: env}
	name, chosen := c.options.Set["cloud"], "--os-cloud"
	if name == "" {
		name, chosen = env("OS_CLOUD"), "OS_CLOUD"
	}
	if name == "" && s.text("auth_url") == "" && s.text("endpoint") == "" && env("OS_AUTH_URL") == "" && env("OS_ENDPOINT") == "" && env("OS_URL") == "" {
		only, err := files.only()
		if err != nil {
			return nil, err
		}
		name, chosen = only, "the only cloud"
	}
	if name == "envvars" {
		name = ""
	}
	for _, k := range keys[:] {
		for _, e := range k.envs() {
			switch {
			case k.own:
				s.put(k.name, env(e), e, asked)
			case name == "":
				s.put(k.name, env(e), e, stated)
			}
		}
	}
	if name == "" {
		for _, k := range kinds[:] {
			e := "OS_" + strings.ToUpper(k.setting) + "_ENDPOINT_OVERRIDE"
			s.put(k.setting+"_endpoint_override", env(e), e, stated)
		}
	} else if err := c.named(ctx, s, &files, name, chosen); err != nil {
		return nil, err
	}
	s.put("interface", "public", "default", assumed)
	return s, s.check()
}

// check refuses settings that cannot be understood, before they are relied on.
func (s *settings) check() error {
	var bad []string
	if _, err := s.unverified(); err != nil {
		bad = append(bad, err.Error())
	}
	if _, err := s.timeout(); err != nil {
		bad = append(bad, err.Error())
	}
	if err := s.versioned(); err != nil {
		bad = append(bad, err.Error())
	}
	if v := s.values["force_ipv4"]; v.Value != "" {
		if _, err := ParseBool(v.Value); err != nil {
			bad = append(bad, v.origin("force_ipv4")+"="+err.Error())
		}
	}
	for _, v := range s.sorted() {
		if v.many {
			bad = append(bad, v.origin(v.Name)+" has several values: give one")
		}
	}
	if len(bad) == 0 {
		return nil
	}
	err := errors.New("unusable setting: " + strings.Join(bad, "; "))
	if slices.ContainsFunc(bad, func(text string) bool { return !strings.HasPrefix(text, "--") }) {
		return err
	}
	return &mistyped{err}
}

// mistyped is an error of the command line.
type mistyped struct{ error }

// ExitCode is that of a command line that cannot be understood.
func (e *mistyped) ExitCode() int { return 2 }

// named adds the settings of a cloud of clouds.yaml.
func (c *Cloud) named(ctx context.Context, s *settings, f *files, name, chosen string) error {
	entry, file, err := f.cloud(name)
	if err != nil {
		return fmt.Errorf("%s: %w", chosen, err)
	}
	s.cloud = name
	profile := entry.string("profile")
	if profile == "" {
		profile = entry.string("cloud")
	}
	if profile != "" && profile != name {
		vendor, err := c.profile(ctx, f, profile)
		if err != nil {
			return fmt.Errorf("cloud %q in %s: %w", name, file, err)
		}
		entry = merge(vendor, entry)
	}
	if entry, err = inRegion(entry, s.text("region_name")); err != nil {
		return fmt.Errorf("cloud %q in %s: %w", name, file, err)
	}
	s.section(entry, fmt.Sprintf("cloud %s in %s", name, file), stated)
	return nil
}

// inRegion chooses one of the regions of an entry, the first by default.
func inRegion(entry section, wanted string) (section, error) {
	regions, _ := entry["regions"].([]any)
	if several := severalNames(entry["region_name"]); len(several) > 0 && len(regions) == 0 {
		regions = several
	} else if wanted == "" {
		wanted = entry.string("region_name")
	}
	var names []string
	for _, r := range regions {
		name, values := text(r), section(nil)
		if m, ok := r.(section); ok {
			name, values = m.string("name"), m.at("values")
		}
		if names = append(names, name); wanted != "" && name != wanted {
			continue
		}
		entry = merge(entry, values)
		entry["region_name"] = name
		return entry, nil
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("region %q is none of its regions %s", wanted, strings.Join(names, ", "))
	}
	return entry, nil
}

// severalNames are those of a region_name that has more than one, as a list or with
// commas between: the older way to write regions.
func severalNames(v any) []any {
	switch v := v.(type) {
	case []any:
		if len(v) > 1 {
			return v
		}
	case string:
		if strings.Contains(v, ",") {
			var names []any
			for name := range strings.SplitSeq(v, ",") {
				names = append(names, strings.TrimSpace(name))
			}
			return names
		}
	}
	return nil
}

// section adds the settings of an entry.
func (s *settings) section(entry section, source string, level int) {
	put := func(name string, v any) {
		if known(name) {
			v = single(v)
		}
		_, had := s.values[name]
		s.put(name, text(v), source, level)
		if set, has := s.values[name]; has && !had {
			_, scalar := v.(string)
			set.many = !scalar && known(name) && name != "auth_methods"
			s.values[name] = set
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entry)) {
		value := entry[name]
		switch name = strings.ReplaceAll(name, "-", "_"); name {
		case "auth", "regions", "profile", "cloud":
		case "verify":
			if on, err := ParseBool(text(value)); err == nil && !on {
				put("insecure", "true")
			} else if err != nil {
				put("insecure", value)
			}
		case "endpoint_type":
			put("interface", value)
		case "interface":
			if text(entry["endpoint_type"]) == "" && text(entry["endpoint-type"]) == "" {
				put(name, value)
			}
		case "api_timeout":
			put("timeout", value)
		case "auth_type":
			put(name, value)
		default:
			if k := keyOf(name); !k.auth {
				put(name, value)
			}
		}
	}
	auth := entry.at("auth")
	for _, part := range []section{auth, entry} { // credentials may stand beside the auth section too
		for _, name := range slices.Sorted(maps.Keys(part)) {
			known := strings.ReplaceAll(name, "-", "_")
			known = strings.Replace(known, "tenant_", "project_", 1)
			if k := keyOf(known); k.auth || (known == "user_name") {
				if known == "user_name" {
					known = "username"
				}
				put(known, part[name])
			} else if _, isAuth := part["auth"]; !isAuth && len(auth) > 0 {
				put(known, part[name])
			}
		}
	}
}

// single is what stands alone in a list.
func single(v any) any {
	if list, ok := v.([]any); ok && len(list) == 1 {
		return list[0]
	}
	return v
}

// files are the clouds.yaml, secure.yaml and clouds-public.yaml of a run.
type files struct {
	env  func(string) string
	read bool
	file string // the clouds.yaml that was found
	all  section
	err  error
}

// folders are where the files are looked for.
func (f *files) folders() []string {
	config := f.env("XDG_CONFIG_HOME")
	user := home("~/.config", f.env)
	if config == "" {
		config = user
	}
	dirs := []string{"."}
	for _, d := range []string{config, user} {
		if !strings.HasPrefix(d, "~") {
			dirs = append(dirs, filepath.Join(d, "openstack"))
		}
	}
	site, _, _ := strings.Cut(f.env("XDG_CONFIG_DIRS"), ":")
	if site == "" {
		site = "/etc/xdg"
	}
	dirs = append(dirs, filepath.Join(site, "openstack"), "/etc/openstack")
	var once []string
	for _, d := range dirs {
		if !slices.Contains(once, d) {
			once = append(once, d)
		}
	}
	return once
}

// find reads the first file of a name, in the folders; env may name another one.
func (f *files) find(base, env string, more ...string) (file string, found section, looked []string, err error) {
	if named := f.env(env); named != "" {
		named = home(named, f.env)
		found, err = readTree(named)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil, nil, fmt.Errorf("%s: there is no file %s", env, named)
		}
		return named, found, []string{named}, err
	}
	for _, dir := range append(more, f.folders()...) {
		for _, ext := range []string{".yaml", ".yml", ".json"} {
			name := filepath.Join(dir, base+ext)
			found, err := readTree(name)
			switch {
			case err == nil:
				return name, found, looked, nil
			case errors.Is(err, fs.ErrNotExist):
				if ext == ".yaml" {
					looked = append(looked, name)
				}
			case errors.Is(err, fs.ErrPermission):
				looked = append(looked, name+" (permission denied)")
			default:
				return "", nil, nil, err
			}
		}
	}
	return "", nil, looked, nil
}

func readTree(name string) (section, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fs.ErrNotExist
	}
	if info.Size() > 4<<20 {
		return nil, fmt.Errorf("%s: too large for a file of clouds", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	found, err := parse(text)
	if err != nil && strings.Contains(err.Error(), "unknown anchor") {
		// What is taken for one may be a password.
		return nil, fmt.Errorf("%s: a value that begins with * is no text: put it in quotes", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return found, nil
}

// clouds reads clouds.yaml with secure.yaml over it.
func (f *files) clouds() (section, error) {
	if f.read {
		return f.all, f.err
	}
	f.read = true
	file, found, looked, err := f.find("clouds", "OS_CLIENT_CONFIG_FILE")
	if err != nil {
		f.err = err
		return nil, err
	}
	if file == "" {
		f.err = fmt.Errorf("%w: looked for %s", errNoFile, strings.Join(looked, ", "))
		return nil, f.err
	}
	_, secure, _, err := f.find("secure", "OS_CLIENT_SECURE_FILE", filepath.Dir(file))
	if err != nil {
		f.err = err
		return nil, err
	}
	f.file, f.all = file, merge(found, secure)
	return f.all, nil
}

var errNoFile = errors.New("there is no clouds.yaml")

// only is the name of the cloud of a file that has one, "" otherwise.
func (f *files) only() (string, error) {
	all, err := f.clouds()
	if errors.Is(err, errNoFile) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if clouds := all.at("clouds"); len(clouds) == 1 {
		for name := range clouds {
			return name, nil
		}
	}
	return "", nil
}

// Names are the clouds of clouds.yaml, none when it cannot be read.
func Names(env func(string) string) []string {
	f := files{env: env}
	all, err := f.clouds()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(all.at("clouds")))
}

// cloud returns an entry.
func (f *files) cloud(name string) (section, string, error) {
	all, err := f.clouds()
	if err != nil {
		return nil, "", fmt.Errorf("cloud %q: %w", name, err)
	}
	clouds := all.at("clouds")
	value, ok := clouds[name]
	if !ok {
		have := "it has none"
		if len(clouds) > 0 {
			have = "it has " + strings.Join(slices.Sorted(maps.Keys(clouds)), ", ")
		}
		return nil, "", fmt.Errorf("there is no cloud %q in %s: %s", name, f.file, have)
	}
	entry, ok := value.(section)
	if !ok {
		return nil, "", fmt.Errorf("cloud %q in %s is no mapping", name, f.file)
	}
	return entry, f.file, nil
}

// profile returns what a vendor says of all its customers: an entry of
// clouds-public.yaml, or what the vendor serves at an address.
func (c *Cloud) profile(ctx context.Context, f *files, name string) (section, error) {
	if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") {
		return c.served(ctx, name)
	}
	_, public, looked, err := f.find("clouds-public", "OS_CLIENT_VENDOR_FILE", filepath.Dir(f.file))
	if err != nil {
		return nil, err
	}
	entry := public.at("public-clouds").at(name)
	if entry == nil {
		if public != nil {
			return nil, fmt.Errorf("profile %q is not in clouds-public.yaml", name)
		}
		return nil, fmt.Errorf("profile %q: there is no clouds-public.yaml: looked for %s", name, strings.Join(looked, ", "))
	}
	return entry, nil
}

// served fetches a profile from its vendor.
func (c *Cloud) served(ctx context.Context, address string) (section, error) {
	transport := c.options.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	probe := &Cloud{options: c.options, settings: &settings{}, client: &http.Client{Transport: transport, Timeout: time.Minute}}
	address = strings.TrimRight(address, "/") + "/.well-known/openstack/api"
	a, err := probe.exchange(ctx, call{service: "profile", method: http.MethodGet, url: address, header: http.Header{"Accept": {"application/json"}}})
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", address, err)
	}
	defer a.close()
	var raw struct {
		Profile map[string]any `json:"profile"`
	}
	if err := a.decode(&raw); err != nil {
		return nil, fmt.Errorf("profile %s: %w", address, err)
	}
	return parse([]byte(text(raw.Profile)))
}
