package helm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v4/pkg/chart/loader"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"
	"sigs.k8s.io/yaml"
)

const (
	dialTimeout  = 10 * time.Second
	fetchTimeout = 2 * time.Minute // of one file
	maxChart     = 20 << 20
	maxIndex     = 100 << 20
	chartLayer   = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// errNoVersion tells that a source has a chart, but not in the version wanted.
var errNoVersion = errors.New("no such version")

// Pull returns a chart. Its address is that of its source and its name:
//
//	oci://registry/path/name    a registry; oci+http:// is one without TLS
//	https://host/path/name      a chart repository; http:// is one without TLS
//
// A registry on this host is asked without TLS. The version is exact; a v before
// it may be there or not. No credentials are sent.
func Pull(ctx context.Context, address, version string) (*chartv2.Chart, error) {
	archive, err := fetch(ctx, address, version)
	if err != nil {
		return nil, fmt.Errorf("pull chart %s %s: %w", address, version, err)
	}
	read, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("pull chart %s %s: %w", address, version, err)
	}
	c, ok := read.(*chartv2.Chart)
	if !ok {
		return nil, fmt.Errorf("pull chart %s %s: its apiVersion is neither v1 nor v2", address, version)
	}
	if !sameVersion(c.Metadata.Version, version) {
		return nil, fmt.Errorf("pull chart %s %s: the chart says it is version %s", address, version, c.Metadata.Version)
	}
	return c, nil
}

func fetch(ctx context.Context, address, version string) ([]byte, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	cut := strings.LastIndexByte(rest, '/')
	if cut <= 0 || cut == len(rest)-1 {
		return nil, errors.New("the address must be that of a source and the name of a chart")
	}
	switch scheme {
	case "oci":
		return fromRegistry(ctx, rest, version, onThisHost(rest))
	case "oci+http":
		return fromRegistry(ctx, rest, version, true)
	case "https", "http":
		return fromRepository(ctx, scheme+"://"+rest[:cut], rest[cut+1:], version)
	}
	return nil, fmt.Errorf("%q is no source of charts, it begins with none of oci://, oci+http://, https://, http://", address)
}

// onThisHost tells whether a registry is on a loopback address.
func onThisHost(reference string) bool {
	host, _, _ := strings.Cut(reference, "/")
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// web returns a client that tries again what may pass.
func web() *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2: true, ResponseHeaderTimeout: 3 * dialTimeout, DisableKeepAlives: true,
	}
	return &http.Client{Transport: retry.NewTransport(transport)}
}

// spellings are how a version may be written.
func spellings(version string) []string {
	if bare, ok := strings.CutPrefix(version, "v"); ok {
		return []string{version, bare}
	}
	return []string{version, "v" + version}
}

func sameVersion(a, b string) bool { return strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v") }

// fromRegistry fetches a chart that is an artifact.
func fromRegistry(ctx context.Context, reference, version string, plain bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	repository, err := remote.NewRepository(reference)
	if err != nil {
		return nil, err
	}
	repository.PlainHTTP = plain
	repository.Client = &auth.Client{Client: web(), Cache: auth.NewCache()}
	var found ocispec.Descriptor
	var manifest io.ReadCloser
	for _, v := range spellings(version) {
		// A tag has no place for the + of a version.
		found, manifest, err = repository.FetchReference(ctx, strings.ReplaceAll(v, "+", "_"))
		if !errors.Is(err, errdef.ErrNotFound) {
			break
		}
	}
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, errNoVersion
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = manifest.Close() }()
	if found.Size > maxIndex {
		return nil, fmt.Errorf("the manifest has %d bytes", found.Size)
	}
	text, err := content.ReadAll(manifest, found)
	if err != nil {
		return nil, err
	}
	var about ocispec.Manifest
	if err := json.Unmarshal(text, &about); err != nil {
		return nil, fmt.Errorf("the manifest is none: %w", err)
	}
	for _, layer := range about.Layers {
		if layer.MediaType != chartLayer {
			continue
		}
		if layer.Size > maxChart {
			return nil, fmt.Errorf("the chart has %d bytes, more than %d", layer.Size, maxChart)
		}
		return content.FetchAll(ctx, repository.Blobs(), layer)
	}
	return nil, errors.New("the artifact is no chart")
}

// index is the part of the index of a chart repository that is read.
type index struct {
	Entries map[string][]entry `json:"entries"`
}

type entry struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"`
}

// fromRepository fetches a chart from a chart repository.
func fromRepository(ctx context.Context, repository, name, version string) ([]byte, error) {
	client := web()
	text, err := get(ctx, client, repository+"/index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	found, err := lookUp(text, name, version)
	if err != nil {
		return nil, fmt.Errorf("%s/index.yaml: %w", repository, err)
	}
	base, err := url.Parse(repository + "/")
	if err != nil {
		return nil, err
	}
	where, err := base.Parse(found.URLs[0])
	if err != nil {
		return nil, err
	}
	archive, err := get(ctx, client, where.String(), maxChart)
	if err != nil {
		return nil, err
	}
	want := strings.TrimPrefix(found.Digest, "sha256:")
	if got := digest.FromBytes(archive).Encoded(); want != "" && got != want {
		return nil, fmt.Errorf("%s has the digest %s, the index says %s", where.Redacted(), got, want)
	}
	return archive, nil
}

// lookUp finds a chart in the index of a repository.
func lookUp(text []byte, name, version string) (entry, error) {
	var i index
	if err := yaml.Unmarshal(text, &i); err != nil {
		return entry{}, fmt.Errorf("it is no index: %w", err)
	}
	for _, v := range spellings(version) {
		for _, e := range i.Entries[name] {
			if e.Version == v && len(e.URLs) > 0 {
				return e, nil
			}
		}
	}
	if len(i.Entries[name]) == 0 {
		return entry{}, errors.New("there is no such chart")
	}
	return entry{}, errNoVersion
}

func get(ctx context.Context, client *http.Client, address string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: HTTP %d", address, answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", address, err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("get %s: it has more than %d bytes", address, limit)
	}
	return text, nil
}
