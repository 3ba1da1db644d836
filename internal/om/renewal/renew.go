package renewal

import (
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Options tell how a certificate is renewed.
type Options struct {
	Force bool   // though it is not due
	For   string // the namespace on whose behalf; "": that of the object
	// Where the answers to the challenges are published; nil: as the
	// configuration says.
	Where Publisher
}

// Result is what a renewal did.
type Result struct {
	Issued bool
	Names  []string // what the new certificate is for
	Reason string   // of the renewal, or why there was none
	Until  time.Time
}

// String says it to people.
func (r Result) String() string {
	if !r.Issued {
		return "no certificate issued: " + r.Reason
	}
	return fmt.Sprintf("certificate issued for %s: %s", strings.Join(r.Names, " "), r.Reason)
}

// Renew renews the certificate of an object when it is due.
func (r *Renewer) Renew(ctx context.Context, p object.Path, o Options) (Result, error) {
	d, err := r.describe(ctx, p)
	if err != nil {
		return Result{}, err
	}
	if o.For != "" {
		if err := shares(p, d, o.For); err != nil {
			return Result{}, err
		}
	}
	want, err := r.want(ctx, p, d)
	if err != nil {
		return Result{}, err
	}
	have, account, err := r.have(ctx, p)
	if err != nil {
		return Result{}, err
	}
	verdict := certificate.Decide(want, have, r.Now())
	if !verdict.Due && !o.Force {
		return Result{Reason: verdict.Reason}, nil
	}
	if !verdict.Due {
		verdict.Reason = "forced, " + verdict.Reason
	}
	var pair *certificate.Pair
	if want.Directory == "" {
		pair, err = r.create(ctx, p, d)
	} else {
		pair, err = r.order(ctx, p, d, want, account, o)
	}
	if err != nil {
		return Result{}, err
	}
	names := want.Names
	if len(names) == 0 {
		names = []string{d.Certificate.CommonName}
	}
	return Result{Issued: true, Names: names, Reason: verdict.Reason, Until: pair.Leaf().NotAfter}, nil
}

// want is what the configuration asks for.
func (r *Renewer) want(ctx context.Context, p object.Path, d Description) (certificate.Want, error) {
	w := certificate.Want{CommonName: d.Certificate.CommonName, Before: d.ACME.RenewBefore}
	if d.ACME.Directory == "" {
		_, usage, err := r.issuer(ctx, p, d)
		if err != nil {
			return w, err
		}
		request, err := certificate.From(d.Certificate, usage)
		w.Names = request.Names
		return w, err
	}
	var err error
	if w.Directory, err = certificate.Directory(d.ACME.Directory); err != nil {
		return w, err
	}
	if cn := d.Certificate.CommonName; cn != "" {
		if err := certificate.CheckName(cn); err != nil {
			return w, fmt.Errorf("cn: %w: a directory certifies host names", err)
		}
	}
	if w.Names, err = certificate.NamesOf(d.Certificate); err != nil {
		return w, err
	}
	return w, certificate.CheckOrder(w.Names)
}

// issued is what is kept of the directory that issued a certificate. It counts
// as long as the certificate is that one.
type issued struct {
	Directory   string `json:"directory"`
	Certificate string `json:"certificate"` // SHA-256
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// have is the certificate there is, and the account it was ordered with.
func (r *Renewer) have(ctx context.Context, p object.Path) (certificate.Have, crypto.Signer, error) {
	keys, err := r.Objects.Read(ctx, p, certificate.KeyPrivate, certificate.KeyChain, certificate.KeyCertificate, KeyAccount, KeyIssuer)
	if err != nil {
		return certificate.Have{}, nil, err
	}
	var account crypto.Signer
	if text := keys[KeyAccount]; len(text) > 0 {
		if account, err = certificate.ParseKey(text); err != nil {
			return certificate.Have{}, nil, fmt.Errorf("key %s: %w: remove it to register another account", KeyAccount, err)
		}
	}
	var h certificate.Have
	pair, err := certificate.Parse(keys)
	if err != nil {
		h.Wrong = err
		return h, account, nil //nolint:nilerr // what is wrong is why it is renewed
	}
	h.Leaf = pair.Leaf()
	var from issued
	if json.Unmarshal(keys[KeyIssuer], &from) == nil && from.Certificate == fingerprint(h.Leaf) {
		h.Directory = from.Directory
	}
	return h, account, nil
}

// order has a directory issue a certificate. The account is kept before it is
// registered, and the private key before nobody: it is written with its
// certificate, or not at all.
func (r *Renewer) order(ctx context.Context, p object.Path, d Description, want certificate.Want, account crypto.Signer, o Options) (*certificate.Pair, error) {
	if r.Issuer == nil {
		return nil, errors.New("ACME directories are asked from a node: om, not ox")
	}
	where := o.Where
	if where == nil {
		var err error
		if where, err = r.where(p, d); err != nil {
			return nil, err
		}
	}
	if account == nil {
		var err error
		if account, err = r.newAccount(ctx, p); err != nil {
			return nil, err
		}
	}
	key, err := certificate.NewKey(r.Random, d.Certificate.Bits)
	if err != nil {
		return nil, err
	}
	// The names alone: what else a certificate says, a public authority decides.
	csr, err := r.maker().SigningRequest(certificate.Request{Names: want.Names}, key)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(csr)
	chain, err := r.Issuer.Issue(ctx, certificate.Order{
		Directory: want.Directory, Account: account, Contact: d.Certificate.Email, Names: want.Names, Request: block.Bytes,
		Publish: where.Publish,
	})
	if err != nil {
		return nil, err
	}
	pair := &certificate.Pair{Key: key, Chain: chain}
	if err := check(pair, want); err != nil {
		return nil, err
	}
	from, err := json.Marshal(issued{Directory: want.Directory, Certificate: fingerprint(pair.Leaf())})
	if err != nil {
		return nil, err
	}
	return pair, r.keep(ctx, p, pair, from)
}

// check refuses a certificate that is not what was ordered.
func check(pair *certificate.Pair, want certificate.Want) error {
	if len(pair.Chain) == 0 {
		return fmt.Errorf("%s gave no certificate", want.Directory)
	}
	if !certificate.Fits(pair.Key, pair.Leaf()) {
		return fmt.Errorf("%s gave the certificate of another private key", want.Directory)
	}
	certified := certificate.Certified(pair.Leaf())
	for _, name := range want.Names {
		if !slices.Contains(certified, name) {
			return fmt.Errorf("%s gave a certificate that does not name %s", want.Directory, name)
		}
	}
	return nil
}

func (r *Renewer) newAccount(ctx context.Context, p object.Path) (crypto.Signer, error) {
	account, err := certificate.NewKey(r.Random, 0)
	if err != nil {
		return nil, err
	}
	text, err := certificate.EncodeKey(account)
	if err != nil {
		return nil, err
	}
	return account, r.Objects.Write(ctx, p, map[string][]byte{KeyAccount: text})
}
