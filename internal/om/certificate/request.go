// Package certificate makes the private keys and the certificates of sec and usr
// objects, reads them back, and decides when they are to be made again.
//
// It is pure: the time and the source of random numbers are given, and what it
// makes is returned as the keys of an object. Who asks, where the authority is
// and where the result is written is the business of package renewal.
package certificate

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// Usage is what a certificate is good for.
type Usage int

// The usages.
const (
	Server    Usage = iota // its holder answers under its names
	Client                 // its holder is a user
	Mutual                 // both: its holder is a service that asks others
	Authority              // its holder signs other certificates, and does nothing else
)

// String names the usage.
func (u Usage) String() string {
	switch u {
	case Server:
		return "server"
	case Client:
		return "client"
	case Mutual:
		return "server and client"
	case Authority:
		return "authority"
	}
	return "unknown"
}

// Request describes a certificate to make.
type Request struct {
	Subject  pkix.Name
	Names    []string // host names and addresses it certifies
	Email    string
	Bits     int64 // of a RSA key; 0: an ECDSA key on P-256
	Validity time.Duration
	Usage    Usage
}

// From returns the request that the keywords of an object make. The common name
// is the first of the names, when it is one.
func From(s schema.CertificateSettings, usage Usage) (Request, error) {
	if s.CommonName == "" {
		return Request{}, errors.New("no cn: set the cn keyword, the name of the certificate")
	}
	names, err := NamesOf(s)
	if err != nil {
		return Request{}, err
	}
	if usage == Client || usage == Authority { // what it is called is no host
		if names, err = NamesOf(schema.CertificateSettings{AltNames: s.AltNames}); err != nil {
			return Request{}, err
		}
	}
	subject := pkix.Name{CommonName: s.CommonName}
	add := func(to *[]string, value string) {
		if value != "" {
			*to = []string{value}
		}
	}
	add(&subject.Country, s.Country)
	add(&subject.Province, s.State)
	add(&subject.Locality, s.Locality)
	add(&subject.Organization, s.Organization)
	add(&subject.OrganizationalUnit, s.Unit)
	return Request{Subject: subject, Names: names, Email: s.Email, Bits: s.Bits, Validity: s.Validity, Usage: usage}, nil
}

// NamesOf returns the names a certificate is to have: cn, when it is a name, and
// alt_names, each once, as they are compared.
func NamesOf(s schema.CertificateSettings) ([]string, error) {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if name, err := normal(s.CommonName); err == nil {
		add(name)
	}
	for _, written := range s.AltNames {
		name, err := normal(written)
		if err != nil {
			return nil, fmt.Errorf("alt_names: %w", err)
		}
		add(name)
	}
	return names, nil
}

// CheckName refuses what is neither a host name nor an address.
func CheckName(name string) error {
	_, err := normal(name)
	return err
}

// normal returns a host name or an address as it is written in certificates.
func normal(name string) (string, error) {
	if addr, err := netip.ParseAddr(name); err == nil && addr.Zone() == "" {
		return addr.Unmap().String(), nil
	}
	host := strings.ToLower(strings.TrimSuffix(name, "."))
	if host == "" || len(host) > maxHost {
		return "", fmt.Errorf("%q is no host name and no address", name)
	}
	for i, label := range strings.Split(host, ".") {
		if label == "*" && i == 0 && strings.Contains(host, ".") {
			continue
		}
		if err := checkLabel(label); err != nil {
			return "", fmt.Errorf("%q is no host name and no address: %w", name, err)
		}
	}
	return host, nil
}

const (
	maxHost  = 253
	maxLabel = 63
)

func checkLabel(label string) error {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	switch {
	case label == "":
		return errors.New("a part of it is empty")
	case len(label) > maxLabel:
		return fmt.Errorf("%q is longer than %d", label, maxLabel)
	case strings.ContainsFunc(label, func(r rune) bool { return r > 127 }):
		return errors.New("write it in ASCII, as xn--…")
	case strings.ContainsFunc(label, odd), label[0] == '-', label[len(label)-1] == '-':
		return fmt.Errorf("%q holds something else than letters, digits and inner dashes", label)
	}
	return nil
}

// Certified returns the names of a certificate, as [NamesOf] writes them: its
// common name only when it has no other.
func Certified(c *x509.Certificate) []string {
	var names []string
	for _, host := range c.DNSNames {
		if name, err := normal(host); err == nil {
			names = append(names, name)
		}
	}
	for _, ip := range c.IPAddresses {
		if addr, ok := netip.AddrFromSlice(ip); ok {
			names = append(names, addr.Unmap().String())
		}
	}
	if len(names) == 0 {
		if name, err := normal(c.Subject.CommonName); err == nil {
			names = append(names, name)
		}
	}
	return names
}
