package cloud

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// silence is how long a service may take to begin its answer.
const silence = 60 * time.Second

// connect makes the client all requests go through.
func (c *Cloud) connect() (*http.Client, error) {
	limit, err := c.settings.timeout()
	if err != nil {
		return nil, err
	}
	transport := c.options.Transport
	if transport == nil {
		if transport, err = c.network(); err != nil {
			return nil, err
		}
	}
	if !c.options.Compat && !c.options.Quiet {
		unverified, err := c.settings.unverified()
		if err != nil {
			return nil, err
		}
		transport = &wary{next: transport, unverified: unverified, warn: c.warn}
	}
	if c.on(c.options.Debug, "OS_DEBUG") {
		transport = &debug{next: transport, to: c.options.Streams.Err, pretty: c.options.Streams.ErrTTY, mask: c.Mask, learn: c.secret.add}
	}
	if c.options.Timing {
		c.timing = &timing{next: transport, to: c.options.Streams.Err}
		transport = c.timing
	}
	return &http.Client{Transport: transport, Timeout: limit, CheckRedirect: redirect}, nil
}

func (c *Cloud) network() (*http.Transport, error) {
	config, err := c.settings.tls(c.options.Env)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	dial := dialer.DialContext
	if only4, err := ParseBool(c.settings.text("force_ipv4")); err == nil && only4 {
		dial = func(ctx context.Context, _, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp4", address)
		}
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dial,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   30 * time.Second,
		ResponseHeaderTimeout: silence,
		ExpectContinueTimeout: time.Second,
		ReadBufferSize:        32 << 10, // lists are megabytes long
		TLSClientConfig:       config,
	}, nil
}

func (s *settings) tls(env func(string) string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if config.InsecureSkipVerify, err = s.unverified(); err != nil {
		return nil, err
	}
	if v, ok := s.values["cacert"]; ok && !config.InsecureSkipVerify {
		pem, err := os.ReadFile(home(v.Value, env))
		if err != nil {
			return nil, fmt.Errorf("the CA certificates of %s: %w", v.Source, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the CA certificates of %s: %s holds no certificate in PEM form", v.Source, v.Value)
		}
	}
	cert, hasCert := s.values["cert"]
	key, hasKey := s.values["key"]
	switch {
	case hasCert && !hasKey:
		return nil, fmt.Errorf("%s is set but --os-key is missing: a client certificate needs both", cert.Source)
	case hasKey && !hasCert:
		return nil, fmt.Errorf("%s is set but --os-cert is missing: a client certificate needs both", key.Source)
	case hasCert:
		pair, err := tls.LoadX509KeyPair(home(cert.Value, env), home(key.Value, env))
		if err != nil {
			return nil, fmt.Errorf("the client certificate of %s with the key of %s: %w", cert.Source, key.Source, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// home expands a "~/" at the beginning.
func home(path string, env func(string) string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && env("HOME") != "" {
		return filepath.Join(env("HOME"), rest)
	}
	return path
}

// redirect lets a chain go on for five steps, and leaves what is secret behind
// when it leaves the first host or its scheme. What was sent may hold a password:
// it is not sent again to another machine, nor without TLS where there was TLS.
func redirect(r *http.Request, via []*http.Request) error {
	if len(via) > 5 {
		return errors.New("stopped after 5 redirects")
	}
	if from := via[len(via)-1].URL; r.Body != nil && (from.Hostname() != r.URL.Hostname() || from.Scheme == "https" && r.URL.Scheme != "https") {
		return fmt.Errorf("it redirects to %s://%s, where what was sent is not sent again", r.URL.Scheme, r.URL.Host)
	}
	if first := via[0].URL; first.Scheme != r.URL.Scheme || hostPort(first) != hostPort(r.URL) {
		for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Auth-Token", "X-Subject-Token", "X-Service-Token", "X-Vault-Token"} {
			r.Header.Del(name)
		}
	}
	return nil
}
