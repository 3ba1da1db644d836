package remote

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/station"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Server is a backend that reaches a cluster as a context says, or a listener
// given by flags, or the daemon of this host. Flags win over the environment, and
// a context over a server:
//
//	--server  --context  OSVC_CONTEXT  OSVC_SERVER  the socket of this host
type Server struct {
	*Backend
	process app.Process

	context   string
	server    string
	tokenFile string
	caFile    string
	insecure  bool
}

// New returns the backend of ox.
func New(p app.Process) *Server {
	s := &Server{process: p}
	s.Backend = &Backend{Env: s.environ, Connect: sync.OnceValues(s.connect)}
	return s
}

// GlobalFlags gives every command the flags that designate the server.
func (s *Server) GlobalFlags(f *pflag.FlagSet) {
	f.StringVar(&s.context, "context", "", "`name` of the context to use ($OSVC_CONTEXT)")
	f.StringVar(&s.server, "server", "", "`address` of a listener of the cluster: host, host:port or https://host:port ($OSVC_SERVER)")
	f.StringVar(&s.tokenFile, "token-file", "", "`file` holding the bearer token ($OSVC_TOKEN_FILE, or the token itself in $OSVC_TOKEN)")
	f.StringVar(&s.caFile, "ca-file", "", "`file` of the certificates of the authorities to trust ($OSVC_CA_FILE)")
	f.BoolVar(&s.insecure, "insecure", false, "do not verify the certificate of the server")
}

// Check implements [command.Checker].
func (s *Server) Check() error {
	if s.server != "" && s.context != "" {
		return app.Usage("--server and --context exclude each other: a context names its server")
	}
	return nil
}

// Station is where the contexts of the user are.
func (s *Server) Station() station.Station { return station.At(s.process.Env("HOME")) }

// Current names the context in force, "" when there is none.
func (s *Server) Current() string {
	if s.server != "" {
		return ""
	}
	return or(s.context, s.process.Env("OSVC_CONTEXT"))
}

// environ is the environment, the namespace of the context standing for the one
// that is not given.
func (s *Server) environ(name string) string {
	value := s.process.Env(name)
	if name != "OSVC_NAMESPACE" || value != "" {
		return value
	}
	e, err := s.Endpoint(s.Current())
	if err != nil {
		return ""
	}
	return e.Settings.Namespace
}

// Endpoint resolves a context.
func (s *Server) Endpoint(name string) (station.Endpoint, error) {
	if name == "" {
		return station.Endpoint{}, errors.New("no context is set: give --context or set OSVC_CONTEXT; ox context list shows them")
	}
	f, err := s.Station().Load()
	if err != nil {
		return station.Endpoint{}, err
	}
	return f.Resolve(name)
}

func (s *Server) connect() (*client.Client, error) {
	if name := s.Current(); name != "" {
		return s.Connection(name)
	}
	if server := or(s.server, s.process.Env("OSVC_SERVER")); server != "" {
		return s.direct(server)
	}
	return s.here()
}

// Connection returns the client of a context. It renews the tokens by itself.
func (s *Server) Connection(name string) (*client.Client, error) {
	e, err := s.Endpoint(name)
	if err != nil {
		return nil, err
	}
	o, err := s.options(e)
	if err != nil {
		return nil, fmt.Errorf("context %s: %w", name, err)
	}
	if !e.Certified() {
		o.Credential = &session{station: s.Station(), endpoint: e, options: o}
	}
	return client.New(o)
}

// Of returns the backend of a context, that of the command line for "".
func (s *Server) Of(name string) *Backend {
	if name == "" || name == s.Current() {
		return s.Backend
	}
	env := func(variable string) string {
		if e, err := s.Endpoint(name); err == nil && variable == "OSVC_NAMESPACE" {
			return or(s.process.Env(variable), e.Settings.Namespace)
		}
		return s.process.Env(variable)
	}
	return &Backend{Env: env, Connect: sync.OnceValues(func() (*client.Client, error) { return s.Connection(name) })}
}

// Direct tells whether the command line or the environment names a server, and no context.
func (s *Server) Direct() bool {
	return s.Current() == "" && or(s.server, s.process.Env("OSVC_SERVER")) != ""
}

// options are those of a context, without a credential but a certificate.
func (s *Server) options(e station.Endpoint) (client.Options, error) {
	o := client.Options{Server: e.Cluster.Server, Insecure: e.Cluster.Insecure || s.insecure}
	if e.Certified() {
		pair, err := tls.LoadX509KeyPair(s.expand(e.User.ClientCertificate), s.expand(e.User.ClientKey))
		if err != nil {
			return o, fmt.Errorf("certificate of user %s: %w", e.Settings.User, err)
		}
		o.Certificate = &pair
	}
	return o, s.trust(&o, e.Cluster.CertificateAuthority)
}

// trust reads the authorities: those of the flag, of the context, of the
// environment, else those of the host.
func (s *Server) trust(o *client.Options, file string) (err error) {
	if file = or(or(s.caFile, s.expand(file)), s.process.Env("OSVC_CA_FILE")); file == "" {
		return nil
	}
	if o.CA, err = os.ReadFile(file); err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	return nil
}

// expand replaces the ~ a person may write in the file of contexts.
func (s *Server) expand(file string) string {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		return filepath.Join(s.process.Env("HOME"), rest)
	}
	return file
}

// direct is a listener without a context: a token is given for it.
func (s *Server) direct(server string) (*client.Client, error) {
	token, err := s.token()
	if err != nil {
		return nil, err
	}
	o := client.Options{Server: server, Token: token, Insecure: s.insecure}
	if err := s.trust(&o, ""); err != nil {
		return nil, err
	}
	return client.New(o)
}

// here is the daemon of this host: the socket of root, or the one for users, where
// the daemon sees who connects.
func (s *Server) here() (*client.Client, error) {
	paths := host.Paths{Root: s.process.Env("OSVC_ROOT_PATH")}
	socket := paths.UserSocket()
	if s.process.UID == 0 {
		socket = paths.Socket()
	}
	if _, err := os.Stat(socket); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no context and no server: set OSVC_CONTEXT to one of those of ox context list, or give --server; "+
			"this host has no daemon to ask either (%s)", socket)
	}
	return client.New(client.Options{Socket: socket})
}

func (s *Server) token() (secret.String, error) {
	file := or(s.tokenFile, s.process.Env("OSVC_TOKEN_FILE"))
	if file == "" {
		token := s.process.Env("OSVC_TOKEN")
		if token == "" {
			return secret.String{}, errors.New("no token: give --token-file or set OSVC_TOKEN; om daemon auth token makes one on a node of the cluster, and a context has a login (ox context login)")
		}
		return secret.New(token), nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return secret.String{}, fmt.Errorf("token: %w", err)
	}
	return secret.New(strings.TrimSpace(string(data))), nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
