package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"
)

const (
	connectTimeout = 10 * time.Second
	requestTimeout = 30 * time.Second
)

// ErrAbsent tells that a registry does not have an artifact, or that nothing
// listens where it should be.
var ErrAbsent = errors.New("no artifact")

// A Reference is where an artifact is kept: in a registry of this host, which
// speaks plain HTTP and asks nobody who they are.
type Reference struct {
	Host       string
	Port       int
	Repository string
	Tag        string
}

// String writes the reference as Flux does.
func (r Reference) String() string {
	return fmt.Sprintf("oci://%s:%d/%s:%s", r.Host, r.Port, r.Repository, r.Tag)
}

// Push puts an artifact into its registry. The tag is set last: who reads by it
// finds the former artifact or the new one, never a half.
func (a *Artifact) Push(ctx context.Context, r Reference) error {
	store := memory.New()
	for _, b := range []blob{a.config, a.layer, a.manifest} {
		if err := push(ctx, store, b); err != nil {
			return fmt.Errorf("prepare the artifact: %w", err)
		}
	}
	if err := store.Tag(ctx, a.manifest.Descriptor, r.Tag); err != nil {
		return fmt.Errorf("prepare the artifact: %w", err)
	}
	repository, err := r.open()
	if err != nil {
		return err
	}
	if _, err := oras.Copy(ctx, store, r.Tag, repository, r.Tag, oras.DefaultCopyOptions); err != nil {
		return fmt.Errorf("push the artifact to %s: %w", r, err)
	}
	return nil
}

// Digest asks the registry which artifact a reference names. The error is
// [ErrAbsent] when there is none.
func (r Reference) Digest(ctx context.Context) (string, error) {
	repository, err := r.open()
	if err != nil {
		return "", err
	}
	found, err := repository.Resolve(ctx, r.Tag)
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		return "", fmt.Errorf("%w: the registry does not have %s", ErrAbsent, r)
	case unreachable(err):
		return "", fmt.Errorf("%w: nothing listens at %s:%d", ErrAbsent, r.Host, r.Port)
	case err != nil:
		return "", fmt.Errorf("ask the registry for %s: %w", r, err)
	}
	return found.Digest.String(), nil
}

// unreachable tells that nobody is there who could have answered.
func unreachable(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return errors.Is(err, syscall.ECONNREFUSED) || ok && dns.IsNotFound
}

// open makes a client. It knows no proxy and no credentials: those of the host
// are not for a registry on it.
func (r Reference) open() (*remote.Repository, error) {
	repository, err := remote.NewRepository(fmt.Sprintf("%s:%d/%s", r.Host, r.Port, r.Repository))
	if err != nil {
		return nil, fmt.Errorf("%s is no name of an artifact (OCI_REPOSITORY, OCI_TAG): %w", r, err)
	}
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext, DisableKeepAlives: true}
	repository.PlainHTTP = true
	repository.Client = &auth.Client{Client: &http.Client{Transport: retry.NewTransport(transport), Timeout: requestTimeout}}
	return repository, nil
}

func push(ctx context.Context, s *memory.Store, b blob) error {
	return s.Push(ctx, b.Descriptor, bytes.NewReader(b.data))
}
