package station

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// File is the content of the file of the contexts.
type File struct {
	Clusters map[string]Cluster `json:"clusters"`
	Users    map[string]User    `json:"users"`
	Contexts map[string]Context `json:"contexts"`
}

// Cluster is where a cluster answers.
type Cluster struct {
	Server               string `json:"server"`
	CertificateAuthority string `json:"certificate_authority,omitempty"` // file; those of the host when empty
	Insecure             bool   `json:"insecure,omitempty"`
}

// User is who one is for a cluster.
type User struct {
	Name              string `json:"name,omitempty"` // what the user is called by, when not by the name of the definition
	ClientCertificate string `json:"client_certificate,omitempty"`
	ClientKey         string `json:"client_key,omitempty"`
}

// Context is a cluster to talk to and a user to talk as.
type Context struct {
	Cluster              string   `json:"cluster"`
	User                 string   `json:"user"`
	Namespace            string   `json:"namespace,omitempty"`
	AccessTokenDuration  Duration `json:"access_token_duration,omitzero"`
	RefreshTokenDuration Duration `json:"refresh_token_duration,omitzero"`
}

// Duration is a time as 1h, 1d or 1d12h. It is a flag too.
type Duration time.Duration

// String returns the duration in its largest units.
func (d Duration) String() string {
	if d == 0 {
		return ""
	}
	return config.FormatDuration(time.Duration(d))
}

// Set implements the value of a flag.
func (d *Duration) Set(text string) error {
	read, err := config.ParseDuration(text)
	switch {
	case err != nil:
		return err
	case strings.Trim(text, "0123456789") == "":
		return fmt.Errorf("%s: write a number and a unit, as %ss or 1d12h", text, text)
	case read <= 0:
		return fmt.Errorf("%s: write a positive duration, as 1h or 1d12h", text)
	case read%time.Second != 0:
		return fmt.Errorf("%s: write whole seconds, as 90s or 1h", text)
	}
	*d = Duration(read)
	return nil
}

// Type implements the value of a flag.
func (*Duration) Type() string { return "duration" }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = 0
		return nil
	}
	err := d.Set(string(text))
	if err != nil && !strings.HasPrefix(err.Error(), string(text)) {
		err = fmt.Errorf("%s: %w", text, err)
	}
	if err != nil {
		return &wordError{word: string(text), err: err}
	}
	return nil
}

// Endpoint is a context with what it refers to.
type Endpoint struct {
	Context  string
	Cluster  Cluster
	User     User
	Settings Context
}

// Login is the name the user has on the cluster.
func (e Endpoint) Login() string {
	if e.User.Name != "" {
		return e.User.Name
	}
	return e.Settings.User
}

// Certified tells whether the user shows a certificate, and needs no login.
func (e Endpoint) Certified() bool { return e.User.ClientCertificate != "" }

// maxFile bounds the file: it is written by people.
const maxFile = 1 << 20

// Parse reads the content of a file of contexts and refuses what is wrong with it.
func Parse(data []byte) (File, error) {
	f := File{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&f)
	if errors.Is(err, io.EOF) {
		err = nil // an empty file
	}
	if err == nil && decoder.Decode(new(json.RawMessage)) != io.EOF {
		err = errors.New("something follows the closing brace")
	}
	if err != nil {
		return File{}, located(data, err, decoder.InputOffset())
	}
	f.fill()
	return f, f.check()
}

func (f *File) fill() {
	if f.Clusters == nil {
		f.Clusters = map[string]Cluster{}
	}
	if f.Users == nil {
		f.Users = map[string]User{}
	}
	if f.Contexts == nil {
		f.Contexts = map[string]Context{}
	}
}

// check refuses what no command could use, each problem named.
func (f *File) check() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.Clusters)) {
		errs = append(errs, checkName("cluster", name), of("cluster", name, checkServer(f.Clusters[name].Server)))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Users)) {
		u := f.Users[name]
		errs = append(errs, checkName("user", name))
		if (u.ClientCertificate == "") != (u.ClientKey == "") {
			errs = append(errs, of("user", name, errors.New("a client certificate goes with its key: give both")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Contexts)) {
		c := f.Contexts[name]
		errs = append(errs, checkName("context", name))
		if _, ok := f.Clusters[c.Cluster]; !ok {
			errs = append(errs, of("context", name, missing("cluster", c.Cluster, f.Clusters)))
		}
		if _, ok := f.Users[c.User]; !ok {
			errs = append(errs, of("context", name, missing("user", c.User, f.Users)))
		}
	}
	return errors.Join(errs...)
}

func of(kind, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", kind, name, err)
}

func missing[V any](kind, name string, among map[string]V) error {
	switch {
	case name == "":
		return fmt.Errorf("it names no %s", kind)
	case len(among) == 0:
		return fmt.Errorf("no %s %s: there is none yet, add one with: ox context %s add", kind, name, kind)
	}
	return fmt.Errorf("no %s %s: there are %s", kind, name, strings.Join(slices.Sorted(maps.Keys(among)), ", "))
}

// maxName keeps the name of a file of tokens within what file systems take.
const maxName = 64

func checkName(kind, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a %s has no name", kind)
	case len(name) > maxName:
		return fmt.Errorf("%s %.20s…: a name has at most %d bytes", kind, name, maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return fmt.Errorf("%s %q: a name has no blank and nothing that does not print", kind, name)
	}
	return nil
}

func checkServer(server string) error {
	if server == "" {
		return errors.New("it names no server: write host, host:port or https://host:port")
	}
	text := server
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return fmt.Errorf("server %q: write host, host:port or https://host:port", server)
	}
	return nil
}

// Load reads the contexts. There are none before the first is added.
func (s Station) Load() (File, error) {
	if err := s.check(); err != nil {
		return File{}, err
	}
	data, err := s.read()
	if err != nil {
		return File{}, err
	}
	f, err := Parse(data)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w\ncorrect it with: ox context edit", s.Path(), err)
	}
	return f, nil
}

// open opens a file to read it. What waits for a writer, as a pipe does, is no file of
// ours: its kind is told instead of waiting with it.
func open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (s Station) read() ([]byte, error) {
	f, err := open(s.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file: move it away, ox makes another one", s.Path())
	case info.Mode().Perm()&0o002 != 0:
		return nil, fmt.Errorf("%s: everybody may write it (mode %04o), and have a password sent to a server of theirs: look at what is in it, then chmod 600 it",
			s.Path(), info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: more than %d bytes are no list of contexts", s.Path(), maxFile)
	}
	return data, err
}

// Update changes the contexts in one go.
func (s Station) Update(ctx context.Context, change func(*File) error) error {
	if err := s.check(); err != nil {
		return err
	}
	unlock, err := lock(ctx, s.Path())
	if err != nil {
		return err
	}
	defer unlock()
	f, err := s.Load()
	if err != nil {
		return err
	}
	if err := change(&f); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(f); err != nil {
		return err
	}
	return replace(s.Path(), text.Bytes())
}

// Text is the file as it is, for an editor: an example when there is none.
func (s Station) Text() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	data, err := s.read()
	if err == nil && len(data) == 0 {
		data = []byte("{\n  \"clusters\": {},\n  \"users\": {},\n  \"contexts\": {}\n}\n")
	}
	return data, err
}

// ErrChanged says that the file changed while it was edited.
var ErrChanged = errors.New("the contexts were changed by another program meanwhile")

// Replace puts an edited text in the place of the one it was made from.
func (s Station) Replace(ctx context.Context, was, text []byte) error {
	if _, err := Parse(text); err != nil {
		return err
	}
	unlock, err := lock(ctx, s.Path())
	if err != nil {
		return err
	}
	defer unlock()
	now, err := s.Text()
	if err != nil {
		return err
	}
	if !bytes.Equal(now, was) {
		return ErrChanged
	}
	return replace(s.Path(), text)
}

// Draft is where an edit that could not be committed is kept.
func (s Station) Draft() string { return s.Path() + ".draft" }

// Resolve returns a context with what it refers to.
func (f File) Resolve(name string) (Endpoint, error) {
	c, ok := f.Contexts[name]
	if !ok {
		if len(f.Contexts) == 0 {
			return Endpoint{}, fmt.Errorf("no context %s: there is none yet, add one with: ox context add", name)
		}
		return Endpoint{}, missing("context", name, f.Contexts)
	}
	return Endpoint{Context: name, Cluster: f.Clusters[c.Cluster], User: f.Users[c.User], Settings: c}, nil
}

// Names lists the contexts, sorted.
func (f File) Names() []string { return slices.Sorted(maps.Keys(f.Contexts)) }
