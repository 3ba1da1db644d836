// Package presented knows the certificates that the listener of the node
// presents, and answers the challenges of those that are being renewed.
//
//	system/sec/cert ----------------------> to whoever asks no other name
//	system/sec/ca -> one of the node alone -> who asks for the node when that does not name it
//	listener.tls_secs -> secs -> names ---> to who asks one of their names (SNI)
//	                          -> answers -> http on listener.acme_port
//
// What changes is presented from the next connection on. A sec that cannot be
// used is told in the log and leaves the rest as it is: an API that is served
// with the former certificate can still be repaired.
package presented

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/renewal"
)

// Objects gives the configurations and the keys.
type Objects interface {
	// Site returns what the configuration of the cluster says.
	Site() (renewal.Site, error)
	// Read decodes the keys of an object; those it does not have are left out.
	Read(ctx context.Context, p object.Path, keys ...string) (map[string][]byte, error)
}

// Options are what certificates are read with.
type Options struct {
	Objects Objects
	Bus     *bus.Bus
	Log     *slog.Logger
	Own     object.Path     // the sec of the certificate of the node
	First   tls.Certificate // that certificate, as the daemon found it
	// Sign makes a certificate of this node alone; nil: there is none but those of
	// the configuration.
	Sign func() (tls.Certificate, error)
}

// Certificates are those the listener presents. They are safe for concurrent use.
type Certificates struct {
	o Options

	mu      sync.Mutex
	own     tls.Certificate
	alone   *tls.Certificate // of this node; nil: none
	named   []tls.Certificate
	answers map[string]string // to challenges, by token
	site    renewal.Site
	told    map[object.Path]string // what the log says of a sec
}

// New returns certificates that [Certificates.Run] keeps up to date.
func New(o Options) *Certificates {
	return &Certificates{o: o, own: o.First, told: map[object.Path]string{}}
}

// For returns the certificate for a client, as [tls.Config] asks for it.
func (c *Certificates) For(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.named {
		if named := &c.named[i]; hello.ServerName != "" && named.Leaf.VerifyHostname(hello.ServerName) == nil && hello.SupportsCertificate(named) == nil {
			return named, nil
		}
	}
	name := asked(hello)
	if c.alone != nil && c.own.Leaf.VerifyHostname(name) != nil && c.alone.Leaf.VerifyHostname(name) == nil {
		return c.alone, nil
	}
	return &c.own, nil
}

// asked is the name a client knows the listener by; the address it connected to, when
// it says no name.
func asked(hello *tls.ClientHelloInfo) string {
	if hello.ServerName != "" || hello.Conn == nil {
		return hello.ServerName
	}
	host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String())
	if err != nil {
		return ""
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// Answer returns the answer to a challenge.
func (c *Certificates) Answer(token string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, ok := c.answers[token]
	return answer, ok
}

// Run follows the changes until ctx ends.
func (c *Certificates) Run(ctx context.Context) error {
	changes := c.o.Bus.Latest("certificates", func(e *event.Envelope) (string, bool) { return "", concerns(e) })
	defer changes.Close()
	responder := &responder{answer: c.Answer, log: c.o.Log}
	defer responder.stop()
	for {
		c.Load(ctx)
		c.mu.Lock()
		addr, port := c.site.Addr, c.site.ACMEPort
		c.mu.Unlock()
		responder.listen(ctx, addr, port)
		select {
		case <-ctx.Done():
			return nil
		case <-changes.C():
			changes.Take()
		}
	}
}

// concerns tells the events after which a certificate may be another.
func concerns(e *event.Envelope) bool {
	switch changed := e.Event.(type) {
	case event.InstanceConfigUpdated:
		return changed.Path.Kind == object.KindSec || changed.Path == object.Cluster()
	case event.InstanceConfigDeleted:
		return changed.Path.Kind == object.KindSec
	case event.ClusterConfigUpdated, event.NodeConfigUpdated:
		return true
	}
	return false
}

// Load reads all that is presented.
func (c *Certificates) Load(ctx context.Context) {
	site, err := c.o.Objects.Site()
	if err != nil {
		c.tell(ctx, object.Cluster(), slog.LevelWarn, "the certificates are left as they are", err)
		return
	}
	c.tell(ctx, object.Cluster(), slog.LevelWarn, "", nil)
	own, err := c.read(ctx, c.o.Own)
	c.tell(ctx, c.o.Own, slog.LevelError, "the listener goes on with its former certificate", err)
	var named []tls.Certificate
	answers := map[string]string{}
	for _, p := range site.Presented {
		pair, err := c.read(ctx, p)
		if errors.Is(err, certificate.ErrNone) {
			c.tell(ctx, p, slog.LevelInfo, "the listener waits for a certificate to present", err)
		} else {
			c.tell(ctx, p, slog.LevelError, "the listener cannot present a certificate", err)
		}
		if err == nil {
			named = append(named, pair.TLS())
		}
		keys, err := c.o.Objects.Read(ctx, p, renewal.KeyChallenge)
		if err != nil {
			continue // told above
		}
		maps.Copy(answers, renewal.Challenges(keys[renewal.KeyChallenge]))
	}
	alone := c.sign(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.site, c.named, c.answers, c.alone = site, named, answers, alone
	if own != nil {
		c.own = own.TLS()
	}
}

// sign makes the certificate of this node alone; nil when none can be made.
func (c *Certificates) sign(ctx context.Context) *tls.Certificate {
	if c.o.Sign == nil {
		return nil
	}
	alone, err := c.o.Sign()
	c.tell(ctx, object.Path{}, slog.LevelWarn, "no certificate can be made for this node alone", err)
	if err != nil {
		return nil
	}
	return &alone
}

func (c *Certificates) read(ctx context.Context, p object.Path) (*certificate.Pair, error) {
	keys, err := c.o.Objects.Read(ctx, p, certificate.KeyPrivate, certificate.KeyChain, certificate.KeyCertificate)
	if err != nil {
		return nil, err
	}
	return certificate.Parse(keys)
}

// tell logs what is wrong with a sec, once for as long as it is the same.
func (c *Certificates) tell(ctx context.Context, p object.Path, level slog.Level, what string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	c.mu.Lock()
	was := c.told[p]
	c.told[p] = text
	c.mu.Unlock()
	if err != nil && was != text {
		c.o.Log.Log(ctx, level, what, slog.String("object", p.String()), slog.String("reason", strings.ReplaceAll(text, "\n", "; "))) //nolint:sloglint // what is a constant of Load
	}
}
