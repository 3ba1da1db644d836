package certificate

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// The directories that have a name.
const (
	letsEncrypt        = "https://acme-v02.api.letsencrypt.org/directory"
	letsEncryptStaging = "https://acme-staging-v02.api.letsencrypt.org/directory"
)

// Directory returns the url of an ACME directory, as the keyword of a sec names it.
func Directory(name string) (string, error) {
	switch name {
	case "letsencrypt":
		return letsEncrypt, nil
	case "letsencrypt-staging":
		return letsEncryptStaging, nil
	}
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", fmt.Errorf("acme.directory = %s: write letsencrypt, letsencrypt-staging, or the https url of a directory", name)
	}
	return name, nil
}

// Order is what an ACME directory is asked for.
type Order struct {
	Directory string // url
	Account   crypto.Signer
	Contact   string // an e-mail address, may be empty
	Names     []string
	Request   []byte // the signing request, DER
	// Publish makes the answers to the challenges readable, each at its path below
	// every name. What it returns takes them back.
	Publish func(ctx context.Context, answers map[string]string) (withdraw func(context.Context) error, err error)
}

// ChallengePath is where a directory reads the answers, on port 80 of each name.
const ChallengePath = "/.well-known/acme-challenge/"

// CheckToken refuses the name of a challenge that is none: it becomes that of a
// file, and whoever answers for the directory chooses it.
func CheckToken(token string) error {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	if token == "" || len(token) > 256 || strings.ContainsFunc(token, odd) {
		return fmt.Errorf("the directory names a challenge %.40q, which is no token", token)
	}
	return nil
}

// CheckOrder refuses the names a http-01 challenge cannot prove.
func CheckOrder(names []string) error {
	if len(names) == 0 {
		return errors.New("no name to certify: set cn to the host name that clients ask for")
	}
	for _, name := range names {
		if strings.HasPrefix(name, "*.") {
			return fmt.Errorf("%s: a wildcard is proven by the dns-01 challenge, which is not supported: list the names in alt_names", name)
		}
		if _, err := netip.ParseAddr(name); err != nil && !strings.Contains(name, ".") {
			return fmt.Errorf("%s: a directory certifies names of the internet, with a domain", name)
		}
	}
	return nil
}
