// Package github asks GitHub about the repository Flux reads from.
package github

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/holdfast-ops/holdfast/internal/secret"
)

// API is the public API of GitHub.
const API = "https://api.github.com"

// How long a question may take.
const (
	dialTime  = 10 * time.Second
	wholeTime = 30 * time.Second
)

// Question is which branch to look for.
type Question struct {
	API       string // "" is the public one
	Owner     string
	Name      string
	Branch    string
	Token     secret.String
	UserAgent string
	Address   string // of the repository, for messages
}

// Branch returns the commit a branch is at, "" when GitHub does not say.
func Branch(ctx context.Context, q Question) (commit string, err error) {
	ctx, cancel := context.WithTimeout(ctx, wholeTime)
	defer cancel()
	response, err := q.ask(ctx)
	if err != nil {
		return "", fmt.Errorf("failed to query GitHub API: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GitHub repository or branch '%s' is unavailable at '%s' (HTTP %d)%s", q.Branch, q.Address, response.StatusCode, hint(response.StatusCode))
	}
	var answer struct{ Commit struct{ SHA string } }
	if err := json.NewDecoder(io.LimitReader(response.Body, 4<<20)).Decode(&answer); err != nil {
		return "", fmt.Errorf("failed to query GitHub API: read its answer: %w", err)
	}
	return answer.Commit.SHA, nil
}

func (q Question) ask(ctx context.Context) (*http.Response, error) {
	base := q.API
	if base == "" {
		base = API
	}
	address := base + "/repos/" + url.PathEscape(q.Owner) + "/" + url.PathEscape(q.Name) + "/branches/" + url.PathEscape(q.Branch)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("Authorization", "Bearer "+q.Token.Reveal())
	request.Header.Set("User-Agent", q.UserAgent)
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, TLSHandshakeTimeout: dialTime, DisableKeepAlives: true,
	}
	client := &http.Client{Transport: transport, CheckRedirect: stayOnHost}
	return client.Do(request)
}

// stayOnHost follows a repository that was renamed, but takes the token nowhere else.
func stayOnHost(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > 5 || next.URL.Host != first.Host || next.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// hint says what to do about an answer.
func hint(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return ": GITHUB_TOKEN is wrong or has expired"
	case http.StatusForbidden:
		return ": GITHUB_TOKEN may not read it, or GitHub has had too many questions"
	case http.StatusNotFound:
		return ": there is none, or GITHUB_TOKEN may not read it"
	}
	return ""
}
