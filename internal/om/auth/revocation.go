package auth

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	listLife    = 10 * time.Minute // of a list of revoked certificates
	listRetry   = 30 * time.Second // after it could not be read
	listTimeout = 5 * time.Second
	maxList     = 16 << 20
)

// Revocations know the certificates that their authorities took back, from the
// lists the configuration names. While a list cannot be read the one read before
// counts; without any, what was taken back is not known, and nobody is recognised.
type Revocations struct {
	sources func() ([]string, error)
	client  *http.Client

	mu    sync.Mutex
	lists map[string]*revocationList
}

// revocationList is what was read of a source.
type revocationList struct {
	list  *x509.RevocationList
	err   error // why it is not known
	until time.Time
}

// NewRevocations returns what the lists of sources, files and urls, revoke.
func NewRevocations(sources func() ([]string, error)) *Revocations {
	return &Revocations{sources: sources, client: &http.Client{Timeout: listTimeout}, lists: map[string]*revocationList{}}
}

// Check refuses the chains that hold a certificate its issuer took back.
func (r *Revocations) Check(chains [][]*x509.Certificate, now time.Time) error {
	if r == nil {
		return nil
	}
	sources, err := r.sources()
	if err != nil {
		return fmt.Errorf("lists of revoked certificates: %w", err)
	}
	for _, source := range sources {
		list, err := r.read(source, now)
		if err != nil {
			return fmt.Errorf("list of revoked certificates %s: %w", source, err)
		}
		for _, chain := range chains {
			for i, cert := range chain[:len(chain)-1] {
				if revokes(list, cert, chain[i+1]) {
					return fmt.Errorf("certificate of %q: revoked by %s", cert.Subject.CommonName, source)
				}
			}
		}
	}
	return nil
}

func revokes(list *x509.RevocationList, cert, issuer *x509.Certificate) bool {
	if !bytes.Equal(list.RawIssuer, issuer.RawSubject) || list.CheckSignatureFrom(issuer) != nil {
		return false
	}
	for _, entry := range list.RevokedCertificateEntries {
		if entry.SerialNumber.Cmp(cert.SerialNumber) == 0 {
			return true
		}
	}
	return false
}

func (r *Revocations) read(source string, now time.Time) (*x509.RevocationList, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.lists[source]
	if known != nil && now.Before(known.until) {
		return known.list, known.err
	}
	fresh := &revocationList{until: now.Add(listLife)}
	if fresh.list, fresh.err = r.fetch(source); fresh.err != nil {
		fresh.until = now.Add(listRetry)
		if known != nil && known.list != nil {
			fresh.list, fresh.err = known.list, nil
		}
	}
	r.lists[source] = fresh
	return fresh.list, fresh.err
}

func (r *Revocations) fetch(source string) (*x509.RevocationList, error) {
	data, err := r.content(source)
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(data); block != nil {
		data = block.Bytes
	}
	return x509.ParseRevocationList(data)
}

func (r *Revocations) content(source string) (data []byte, err error) {
	if strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://") {
		answer, err := r.client.Get(source) //nolint:noctx // the client has a timeout; the list is of all callers
		if err != nil {
			return nil, err
		}
		defer func() { _ = answer.Body.Close() }() // it was read
		if answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("answered %s", answer.Status)
		}
		return readList(answer.Body)
	}
	f, err := os.Open(source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return readList(f)
}

func readList(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxList+1))
	if err == nil && len(data) > maxList {
		err = fmt.Errorf("larger than %d bytes", maxList)
	}
	return data, err
}
