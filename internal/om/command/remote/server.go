package remote

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Server is a backend that reaches a listener over TLS, with a bearer token.
// Its flags say which one; the environment stands for those not given.
type Server struct {
	*Backend
	env func(string) string

	server    string
	tokenFile string
	caFile    string
	insecure  bool
}

// New returns the backend of ox. env reads the environment: OSVC_SERVER,
// OSVC_TOKEN, OSVC_TOKEN_FILE and OSVC_CA_FILE.
func New(env func(string) string) *Server {
	s := &Server{env: env}
	s.Backend = &Backend{Env: env, Connect: sync.OnceValues(s.connect)}
	return s
}

// GlobalFlags gives every command the flags that designate the server.
func (s *Server) GlobalFlags(f *pflag.FlagSet) {
	f.StringVar(&s.server, "server", "", "`address` of a listener of the cluster: host, host:port or https://host:port ($OSVC_SERVER)")
	f.StringVar(&s.tokenFile, "token-file", "", "`file` holding the bearer token ($OSVC_TOKEN_FILE, or the token itself in $OSVC_TOKEN)")
	f.StringVar(&s.caFile, "ca-file", "", "`file` of the certificates of the authorities to trust ($OSVC_CA_FILE)")
	f.BoolVar(&s.insecure, "insecure", false, "do not verify the certificate of the server")
}

func (s *Server) connect() (*client.Client, error) {
	server := or(s.server, s.env("OSVC_SERVER"))
	if server == "" {
		return nil, errors.New("no server: give --server or set OSVC_SERVER (contexts and login come with a later version)")
	}
	token, err := s.token()
	if err != nil {
		return nil, err
	}
	o := client.Options{Server: server, Token: token, Insecure: s.insecure}
	if file := or(s.caFile, s.env("OSVC_CA_FILE")); file != "" {
		if o.CA, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("certificate authority: %w", err)
		}
	}
	return client.New(o)
}

func (s *Server) token() (secret.String, error) {
	file := or(s.tokenFile, s.env("OSVC_TOKEN_FILE"))
	if file == "" {
		token := s.env("OSVC_TOKEN")
		if token == "" {
			return secret.String{}, errors.New("no token: give --token-file or set OSVC_TOKEN; om daemon auth token makes one on a node of the cluster")
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
