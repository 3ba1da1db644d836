package github_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/github"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

const token = "ghp_verysecret"

func question(api string) github.Question {
	return github.Question{
		API: api, Owner: "holdfast-ops", Name: "site", Branch: "release/1.2", Token: secret.New(token),
		UserAgent: "krops-bootstrap/v1", Address: "https://github.com/holdfast-ops/site",
	}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestTheBranchIsAskedForOnceWithTheToken(t *testing.T) {
	t.Parallel()
	var asked []map[string]string
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, map[string]string{
			"url": r.Method + " " + r.RequestURI, "accept": r.Header.Get("Accept"), "agent": r.UserAgent(), "token": r.Header.Get("Authorization"),
		})
		_, _ = io.WriteString(w, `{"name":"release/1.2","commit":{"sha":"0a1b2c","node_id":"x"}}`)
	})

	commit, err := github.Branch(t.Context(), question(api))

	if err != nil || commit != "0a1b2c" {
		t.Errorf("%q, %v", commit, err)
	}
	want := []map[string]string{{
		"url": "GET /repos/holdfast-ops/site/branches/release%2F1.2", "accept": "application/vnd.github+json", "agent": "krops-bootstrap/v1", "token": "Bearer " + token,
	}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestAnAnswerWithoutCommitIsFine(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `{"commit":{}}`, `{"commit":null}`} {
		api := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		if commit, err := github.Branch(t.Context(), question(api)); err != nil || commit != "" {
			t.Errorf("%s: %q, %v", body, commit, err)
		}
	}
}

func TestARefusalIsExplained(t *testing.T) {
	t.Parallel()
	const unavailable = "GitHub repository or branch 'release/1.2' is unavailable at 'https://github.com/holdfast-ops/site' (HTTP "
	for status, want := range map[int]string{
		404: unavailable + "404): there is none, or GITHUB_TOKEN may not read it",
		401: unavailable + "401): GITHUB_TOKEN is wrong or has expired",
		403: unavailable + "403): GITHUB_TOKEN may not read it, or GitHub has had too many questions",
		500: unavailable + "500)",
		204: unavailable + "204)",
	} {
		var asked int
		api := serve(t, func(w http.ResponseWriter, _ *http.Request) { asked++; w.WriteHeader(status) })
		_, err := github.Branch(t.Context(), question(api))
		if err == nil || err.Error() != want || asked != 1 {
			t.Errorf("%d: %v after %d questions", status, err, asked)
		}
	}
}

func TestTheTokenStaysOnItsHost(t *testing.T) {
	t.Parallel()
	var leaked []string
	elsewhere := serve(t, func(_ http.ResponseWriter, r *http.Request) { leaked = append(leaked, r.Header.Get("Authorization")) })
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/repositories/1":
			_, _ = io.WriteString(w, `{"commit":{"sha":"renamed"}}`)
		default:
			if strings.Contains(r.URL.Path, "/away/") {
				http.Redirect(w, r, elsewhere+"/x", http.StatusMovedPermanently)
				return
			}
			http.Redirect(w, r, "/repositories/1", http.StatusMovedPermanently)
		}
	})

	if commit, err := github.Branch(t.Context(), question(api)); err != nil || commit != "renamed" {
		t.Errorf("a repository that was renamed: %q, %v", commit, err)
	}
	q := question(api)
	q.Owner = "away"
	if _, err := github.Branch(t.Context(), q); err == nil || !strings.Contains(err.Error(), "(HTTP 301)") || len(leaked) != 0 {
		t.Errorf("%v, leaked %q", err, leaked)
	}
}

func TestARedirectThatGoesRoundEnds(t *testing.T) {
	t.Parallel()
	api := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })
	if _, err := github.Branch(t.Context(), question(api)); err == nil || !strings.Contains(err.Error(), "(HTTP 302)") {
		t.Errorf("%v", err)
	}
}

func TestATransportThatFailsNamesNoSecret(t *testing.T) {
	t.Parallel()
	api := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := github.Branch(t.Context(), question(api))
	if err == nil || !strings.HasPrefix(err.Error(), "failed to query GitHub API: ") || strings.Contains(err.Error(), token) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := github.Branch(ctx, question(api)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	garbled := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	if _, err := github.Branch(t.Context(), question(garbled)); err == nil || !strings.HasPrefix(err.Error(), "failed to query GitHub API: read its answer: ") {
		t.Errorf("%v", err)
	}
}
