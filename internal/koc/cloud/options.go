package cloud

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Options are what a run knows before it meets a cloud.
type Options struct {
	// Set holds what was typed, by the name of the setting: "cloud", "auth_url",
	// "region_name", "compute_api_version", "insecure", "timeout". Typed settings
	// win over a named cloud, which wins over the environment.
	Set map[string]string
	// Env reads the environment; nil is an empty one.
	Env func(string) string
	// Streams take warnings, debugging and timings, and give the password.
	Streams *iostreams.Streams
	Version string // of koc, for the user agent
	Compat  bool   // the voice is that of the openstack client, and so are its default microversions

	PasswordStdin bool // --os-password-stdin
	Debug         bool // --debug
	Timing        bool // --timing
	Quiet         bool // --quiet: no warnings
	TokenCache    bool // --token-cache

	// Transport replaces the network; nil is the real one.
	Transport http.RoundTripper

	limit int64 // of a document, for tests; 0 is maxDocument
}

// Cloud is a session with one cloud: one identity, one scope, one token at a
// time. It may be used by several goroutines.
type Cloud struct {
	options Options

	begin    sync.Once // guards what follows, up to broken
	settings *settings
	client   *http.Client
	timing   *timing
	broken   error

	wrote atomic.Bool // whether a request that changes something was begun

	mu    sync.Mutex // guards what follows
	token *Token
	// verified is whether the token was issued or accepted in this run; one of
	// the cache may have been revoked.
	verified bool
	prompted string // password that was typed or read in this run

	known  versions
	secret secrets
}

// New is a session that has not begun: it reads no file and sends no request.
func New(o Options) *Cloud {
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	if o.Streams == nil {
		o.Streams, _, _, _ = iostreams.Test()
	}
	if o.Version == "" {
		o.Version = "devel"
	}
	if o.limit == 0 {
		o.limit = maxDocument
	}
	return &Cloud{options: o}
}

// Options returns what the session was made with.
func (c *Cloud) Options() Options { return c.options }

// Compat reports whether the session has the default microversions of the
// openstack client.
func (c *Cloud) Compat() bool { return c.options.Compat }

// start reads the settings and prepares the transport, once.
func (c *Cloud) start(ctx context.Context) error {
	c.begin.Do(func() {
		if c.settings, c.broken = c.load(ctx); c.broken == nil {
			c.concealSettings()
			c.client, c.broken = c.connect()
		}
	})
	return c.broken
}

// Settings returns every effective setting, sorted by its name.
func (c *Cloud) Settings(ctx context.Context) ([]Setting, error) {
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	return c.settings.sorted(), nil
}

// Setting returns one setting by its name in clouds.yaml, "" when it has no
// value or the settings cannot be read.
func (c *Cloud) Setting(ctx context.Context, name string) string {
	if c.start(ctx) != nil {
		return ""
	}
	return c.settings.text(name)
}

// Region is the name of the region, "" for the first of the catalogue.
func (c *Cloud) Region(ctx context.Context) string { return c.Setting(ctx, "region_name") }

// Wrote reports whether the session sent a request that changes something.
func (c *Cloud) Wrote() bool { return c.wrote.Load() }

// Close ends the session: it prints the sum of the timings.
func (c *Cloud) Close() {
	if c.timing != nil {
		c.timing.total()
	}
}

// warn tells people of what is no failure.
func (c *Cloud) warn(format string, a ...any) {
	_, _ = fmt.Fprintf(c.options.Streams.Err, "WARNING: "+format+"\n", a...)
}
