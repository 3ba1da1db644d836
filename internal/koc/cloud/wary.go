package cloud

import (
	"net"
	"net/http"
	"net/url"
	"sync"
)

// wary says once of each server that a connection with it is not secure.
type wary struct {
	next       http.RoundTripper
	unverified bool
	warn       func(format string, a ...any)

	mu   sync.Mutex // guards what follows
	said map[string]bool
}

// RoundTrip implements [http.RoundTripper].
func (w *wary) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.URL.Scheme == "https" && w.unverified:
		if w.first(r.URL) {
			w.warn("TLS certificate verification is disabled for %s; connections are not secure", r.URL.Host)
		}
	case r.URL.Scheme == "http" && !loopback(r.URL.Hostname()):
		if w.first(r.URL) {
			w.warn("%s is plain HTTP (%s); credentials and tokens are sent unencrypted", r.URL.Host, (&url.URL{Scheme: "http", Host: r.URL.Host}).String())
		}
	}
	return w.next.RoundTrip(r)
}

func (w *wary) first(u *url.URL) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.said == nil {
		w.said = map[string]bool{}
	}
	known := w.said[u.Host]
	w.said[u.Host] = true
	return !known
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
