// Package certificate has the commands that make and renew the certificates of
// sec and usr objects.
package certificate

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/prompt"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Maker makes the certificates of objects.
type Maker interface {
	// CreateCertificate makes a private key and a certificate.
	CreateCertificate(ctx context.Context, p object.Path) error
	// ExportCertificate returns the private key and the certificates as a PKCS #12 archive.
	ExportCertificate(ctx context.Context, p object.Path, password secret.String) ([]byte, error)
	// RequestCertificate returns a PKCS #10 request in PEM.
	RequestCertificate(ctx context.Context, p object.Path) ([]byte, error)
}

// Renewer renews certificates, when they are due.
type Renewer interface {
	// RenewCertificate returns what was done, in a sentence.
	RenewCertificate(ctx context.Context, c *verb.Call, p object.Path, r Renewal) (string, error)
}

// Renewal tells how a certificate is renewed.
type Renewal struct {
	Webroot string // folder of the node where the answers to challenges are written
	Force   bool   // though it is not due
}

const group = "certificates"

func kinds() []object.Kind { return []object.Kind{object.KindSec, object.KindUsr} }

// Verbs declares the commands.
func Verbs() []verb.Verb {
	return []verb.Verb{
		{
			Path: "certificate create", Also: []string{"gen cert", "gen crt", "cert", "crt"}, Group: group, Kinds: kinds(),
			Short: "Make a private key and a certificate",
			Long: "Make a private key and a certificate, as the keywords cn, alt_names, c, st, l, o, ou, email, bits and validity say, and keep them as the keys " +
				"private_key, certificate, certificate_chain and fullpem. The object named by ca signs it; a sec without ca signs itself, a user is signed by the authority of the cluster. " +
				"What was there is replaced, the private key too.",
			Example: "om ns1/sec/web certificate create",
			New: verb.Does(func(ctx context.Context, m Maker, c *verb.Call) error {
				return each(ctx, c, m.CreateCertificate)
			}),
		},
		{
			Path: "certificate signing-request", Aliases: []string{"sr"}, Group: group, Kinds: kinds(),
			Short: "Print a request for an authority elsewhere to sign",
			Long: "Print a request (PKCS #10) for an authority elsewhere to sign, and keep it as the key certificate_signing_request. " +
				"The private key there is is kept, so that the present certificate goes on serving; one is made when there is none. " +
				"What the authority gives is loaded with: key change --name certificate_chain.",
			Example: "om system/sec/cert certificate signing-request > cert.csr",
			New: verb.Does(func(ctx context.Context, m Maker, c *verb.Call) error {
				return each(ctx, c, func(ctx context.Context, p object.Path) error {
					text, err := m.RequestCertificate(ctx, p)
					if err != nil {
						return err
					}
					_, err = c.Streams.Out.Write(text)
					return err
				})
			}),
		},
		{
			Path: "certificate pkcs12", Also: []string{"pkcs12", "pkcs"}, Aliases: []string{"pkcs"}, Group: group, Kinds: kinds(),
			Short: "Export the private key and the certificates in an archive",
			Long: "Write the private key and the certificates to the standard output as a PKCS #12 archive, which browsers and systems import. " +
				"The password that seals it is asked for on the terminal, else it is the first line of the standard input.",
			Example: "om system/usr/alice certificate pkcs12 > alice.p12",
			New:     verb.Does(export),
		},
		{
			Path: "certificate renew", Group: group, Kinds: kinds(),
			Short: "Renew the certificate when it is due",
			Long: "Renew the certificate when there is none, when it names other domains than cn and alt_names, when it expires within acme.renew_before, or when acme.directory was changed; else say why nothing is done. " +
				"A sec with acme.directory obtains its certificate there. The directory reads the answer to its challenge from the folder that --webroot or acme.webroot names, " +
				"or from the listeners of the nodes when listener.tls_secs names the sec. The others make it again, as certificate create does. The private key is a new one each time.",
			Example: "om ns1/sec/web certificate renew --webroot /var/www/html",
			New:     verb.Needs(func(r Renewer) verb.Runner { return &renew{renewer: r} }),
		},
	}
}

func each(ctx context.Context, c *verb.Call, do func(context.Context, object.Path) error) error {
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	return verb.Each(ctx, paths, func(ctx context.Context, p object.Path) error { return verb.Of(p, do(ctx, p)) })
}

func export(ctx context.Context, m Maker, c *verb.Call) error {
	paths, err := c.Objects(ctx)
	switch {
	case err != nil || len(paths) == 0:
		return err
	case len(paths) > 1:
		return app.Usage("an archive holds one certificate, and %d objects are selected", len(paths))
	case c.Streams.OutTTY:
		return app.Usage("the archive is no text: send it to a file, as in %s > file.p12", c.Line)
	}
	ask := prompt.Password
	password, err := ask(ctx, c.Streams, "Password of the archive: ")
	if err != nil {
		return err
	}
	if c.Streams.InTTY {
		again, err := ask(ctx, c.Streams, "Once more: ")
		if err != nil {
			return err
		}
		if again.Reveal() != password.Reveal() {
			return errors.New("the two are not the same: nothing was exported")
		}
	}
	archive, err := m.ExportCertificate(ctx, paths[0], password)
	if err != nil {
		return err
	}
	_, err = c.Streams.Out.Write(archive)
	return err
}

type renew struct {
	renewer Renewer
	how     Renewal
}

// Flags implements [verb.Runner].
func (r *renew) Flags(f *pflag.FlagSet) {
	f.StringVar(&r.how.Webroot, "webroot", "", "`folder` of this node that the web server of the names serves")
	f.BoolVar(&r.how.Force, "force", false, "renew a certificate that is not due")
}

// Run implements [verb.Runner]. One after the other: what they are signed by, and
// the limits of a directory, are shared.
func (r *renew) Run(ctx context.Context, c *verb.Call) error {
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, p := range paths {
		done, err := r.renewer.RenewCertificate(ctx, c, p, r.how)
		if err != nil {
			failed = errors.Join(failed, verb.Of(p, err))
			continue
		}
		if len(paths) > 1 {
			done = fmt.Sprintf("%s: %s", p, done)
		}
		failed = errors.Join(failed, c.Print(done))
	}
	return failed
}
