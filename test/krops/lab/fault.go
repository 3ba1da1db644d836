package lab

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// A Fault is what happens to a request instead of its answer.
type Fault int

// The faults.
const (
	NoFault      Fault = iota
	Unauthorized       // 401: the server does not know who asks
	Forbidden          // 403
	NotFound           // 404 of an object, as the server words it
	NoSuchPath         // 404 without a status: what a server says of a type it lacks
	Broken             // 500
	Unavailable        // 503
	Hang               // no answer until the client gives up
	Reset              // the connection is reset
	Nonsense           // 200 with what is no JSON
	Swallow            // it is done, but the answer is lost
)

// A Front stands before an API server and lets chosen requests fail.
type Front struct {
	Kubeconfig []byte // that of the plane, but for the port
	Port       int

	server *http.Server

	mu    sync.Mutex
	rule  func(*http.Request) Fault
	asked []string
}

// Front puts a front before the plane, for the time of a test.
func (p *Plane) Front(tb testing.TB) *Front {
	tb.Helper()
	f, err := NewFront(p)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(f.Close)
	return f
}

// NewFront puts a front before a plane. Everybody who comes through is an administrator.
func NewFront(p *Plane) (*Front, error) {
	cert, key, err := p.ca.serving("front", Management+"-lb", Workload+"-lb")
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(p.Rest)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(p.Rest.Host)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Authorization") },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return nil, err
	}
	f := &Front{Port: portOf(l)}
	f.Kubeconfig = bytes.ReplaceAll(p.Kubeconfig, []byte("127.0.0.1:"+strconv.Itoa(p.Port)), []byte("127.0.0.1:"+strconv.Itoa(f.Port)))
	f.server = &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, proxy) }),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // clients that go are no news
	}
	go func() { _ = f.server.ServeTLS(l, "", "") }() // until Close
	return f, nil
}

// Close ends the front.
func (f *Front) Close() {
	if f != nil {
		_ = f.server.Close() // nobody waits for an answer
	}
}

// Fail sets which requests fail, and how; nil ends that.
func (f *Front) Fail(rule func(*http.Request) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rule = rule
}

// Asked lists what was asked since the last call, METHOD /path?query.
func (f *Front) Asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func (f *Front) serve(w http.ResponseWriter, r *http.Request, proxy http.Handler) {
	f.mu.Lock()
	rule := f.rule
	f.asked = append(f.asked, r.Method+" "+r.URL.RequestURI())
	f.mu.Unlock()
	fault := NoFault
	if rule != nil {
		fault = rule(r)
	}
	switch fault {
	case NoFault:
		proxy.ServeHTTP(w, r)
	case Unauthorized:
		status(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	case Forbidden:
		status(w, http.StatusForbidden, "Forbidden", r.URL.Path+" is forbidden")
	case NotFound:
		status(w, http.StatusNotFound, "NotFound", r.URL.Path+" not found")
	case NoSuchPath:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case Broken:
		status(w, http.StatusInternalServerError, "InternalError", "an error of the lab")
	case Unavailable:
		status(w, http.StatusServiceUnavailable, "ServiceUnavailable", "not now")
	case Hang:
		<-r.Context().Done()
	case Reset:
		reset(w)
	case Nonsense:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{nonsense")) // the client sees it
	case Swallow:
		proxy.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		reset(w)
	}
}

// Writes tells whether a request changes something.
func Writes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.URL.Query().Get("dryRun") == ""
}

// status answers as an API server that refuses.
func status(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client sees it
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
	})
}

// reset drops the connection with a reset.
func reset(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	c, _, err := rc.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: the stream is reset
	}
	if t, ok := c.(*tls.Conn); ok {
		if tcp, ok := t.NetConn().(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // then it is an orderly end
		}
	}
	_ = c.Close() // that is the aim
}

// Until polls a condition of the world for a test, which fails when it does not come true.
func Until(tb testing.TB, what string, ask func(ctx context.Context) (bool, error)) {
	tb.Helper()
	err := Poll(tb.Context(), patience, pause, func() error {
		ok, err := ask(tb.Context())
		if err == nil && !ok {
			err = ErrNotYet
		}
		return err
	})
	if err != nil {
		tb.Fatal(errors.Join(fmt.Errorf("%s does not come true", what), err))
	}
}
