package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/acme"
	omcertificate "github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/command/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/renewal"
	"github.com/holdfast-ops/holdfast/internal/om/renewal/stored"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// renewer makes the certificates of the objects of this node. What goes on is
// told by infof, which may be nil.
func (b *Backend) renewer(infof func(format string, a ...any)) *renewal.Renewer {
	return &renewal.Renewer{
		Objects: stored.Objects{Store: b.store(), Node: b.host.Hostname},
		Issuer:  &acme.Client{Agent: "holdfast/" + b.o.Process.Version, Now: time.Now, Infof: infof},
		Random:  rand.Reader, Now: time.Now, Nodes: asker{},
	}
}

// CreateCertificate implements certificate.Maker.
func (b *Backend) CreateCertificate(ctx context.Context, p object.Path) error {
	_, err := b.renewer(nil).Create(ctx, p)
	return err
}

// RequestCertificate implements certificate.Maker.
func (b *Backend) RequestCertificate(ctx context.Context, p object.Path) ([]byte, error) {
	return b.renewer(nil).SigningRequest(ctx, p)
}

// ExportCertificate implements certificate.Maker.
func (b *Backend) ExportCertificate(ctx context.Context, p object.Path, password secret.String) ([]byte, error) {
	return b.renewer(nil).PKCS12(ctx, p, password.Reveal())
}

// RenewCertificate implements certificate.Renewer.
func (b *Backend) RenewCertificate(ctx context.Context, c *verb.Call, p object.Path, r certificate.Renewal) (string, error) {
	o := renewal.Options{Force: r.Force}
	if r.Webroot != "" {
		root, err := filepath.Abs(r.Webroot)
		if err != nil {
			return "", err
		}
		o.Where = renewal.Webroot{Root: root}
	}
	done, err := b.renewer(func(format string, a ...any) { c.Say(p.String()+": "+format, a...) }).Renew(ctx, p, o)
	return done.String(), err
}

// renew renews the certificate of a sec for a task.
func (b *Backend) renew(ctx context.Context, r resource.Renewal) (string, error) {
	o := renewal.Options{For: r.For}
	if r.Root != "" {
		o.Where = renewal.Webroot{Root: r.Root, Dir: r.Dir}
	}
	done, err := b.renewer(r.Infof).Renew(ctx, r.Sec, o)
	return done.String(), err
}

// asker reads what the nodes answer to challenges.
type asker struct{}

const (
	askTimeout  = 5 * time.Second
	answerLimit = 4096
)

// Answer implements [renewal.Asker]. No proxy: nodes are neighbours.
func (asker) Answer(ctx context.Context, address, token string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+omcertificate.ChallengePath+token, nil)
	if err != nil {
		return "", err
	}
	got, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, got.Body.Close()) }()
	if got.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answers %s", got.Status)
	}
	text, err := io.ReadAll(io.LimitReader(got.Body, answerLimit))
	return string(text), err
}
