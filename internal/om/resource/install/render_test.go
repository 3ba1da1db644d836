package install_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/install"
)

func facts() install.Facts {
	one := resource.Tunnel{Nodename: "n2", Local: "192.168.1.1", Remote: "192.168.1.2", Mode: "ipip"}
	return install.Facts{
		Values: map[string]string{"port": "8080", "empty": ""},
		Failed: map[string]error{"broken": errors.New("no such thing as {nosuch}")},
		Ref: func(name string) (string, error) {
			if name == "clusternodes" {
				return "n1 n2", nil
			}
			return "", fmt.Errorf("%s is not known", name)
		},
		Key: func(path, key string) ([]byte, error) {
			if path == "./sec/app" && key == "password" {
				return []byte("s3cret"), nil
			}
			return nil, fmt.Errorf("%s has no key %s", path, key)
		},
		Networks: func() ([]resource.Network, error) {
			return []resource.Network{
				{Name: "a", Network: "10.0.0.0/8", Peers: []resource.Peer{{Nodename: "n2", Tunnel: &one}}},
				{Name: "b", Peers: []resource.Peer{{Nodename: "n2", Tunnel: &one}, {Nodename: "n3"}}},
			}, nil
		},
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`listen = {{ref "clusternodes"}}:{{.port}}`:                                    "listen = n1 n2:8080",
		`{{range split (ref "clusternodes")}}{{.}};{{end}}`:                            "n1;n2;",
		`{{key "./sec/app" "password"}}`:                                               "s3cret",
		`{{range tunnels}}{{.Nodename}} {{.Local}} {{.Remote}}{{end}}`:                 "n2 192.168.1.1 192.168.1.2",
		`{{range networks}}{{.Name}}{{range .Peers}}+{{end}} {{end}}`:                  "a+ b++ ",
		`{{(network "a").Network}}`:                                                    "10.0.0.0/8",
		`{{index . "port"}}{{index (split "a b") 1}}`:                                  "8080b",
		`{{if eq .port "8080"}}yes{{else}}no{{end}}{{.empty}}`:                         "yes",
		`{{define "x"}}<{{.}}>{{end}}{{template "x" .port}}`:                           "<8080>",
		`{{printf "%5s|%-5s" .port .port}}{{print 1 2}}{{html "<"}}`:                   " 8080|8080 1 2&lt;",
		`{{range $i, $n := split "a b c"}}{{if eq $i 1}}{{break}}{{end}}{{$n}}{{end}}`: "a",
		"no action at all": "no action at all",
	} {
		got, err := install.Render(t.Context(), "t", text, facts())
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestAFileIsNotRenderedWithAHole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{{.nosuch}}`:                  "nosuch",
		`{{index . "nosuch"}}`:         "nosuch",
		`{{.broken}}`:                  "env.broken: no such thing as {nosuch}",
		`{{ref "nosuch"}}`:             "nosuch is not known",
		`{{ref "{nodename}"}}`:         "without its braces",
		`{{ref "x} {y"}}`:              "without its braces",
		`{{key "./sec/app" "nosuch"}}`: "has no key nosuch",
		`{{network "nosuch"}}`:         "no network of that name",
		`{{nosuch}}`:                   `function "nosuch" not defined`,
		`{{range`:                      "unclosed action",
		`{{index (split "a") 7}}`:      "index 7 is not one of 1",
		`{{(network "a").Nosuch}}`:     "Nosuch",
	} {
		got, err := install.Render(t.Context(), "t", text, facts())
		if err == nil || !strings.Contains(err.Error(), want) || len(got) > 0 {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// A template is written by who may write a key, and rendered by the agent.
func TestATemplateNeitherLoopsNorGrowsForEver(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{{range 9223372036854775807}}{{end}}`,
		`{{range 100000}}{{range 100000}}{{end}}{{end}}`,
		`{{if true}}{{with 1}}{{range 9223372036854775807}}{{$x := 1}}{{end}}{{end}}{{end}}`,
		`{{define "x"}}{{range 9223372036854775807}}{{end}}{{end}}{{template "x"}}`,
		`{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`,
		`{{define "x"}}{{template "y"}}{{template "y"}}{{end}}{{define "y"}}{{range 1000}}{{range 2000}}{{end}}{{end}}{{end}}{{template "x"}}`,
		`{{$x := "xxxxxxxxxxxxxxxx"}}{{range 60}}{{$x = print $x $x}}{{end}}`,
		`{{$x := "xxxxxxxxxxxxxxxx"}}{{range 60}}{{$x = printf "%s%s" $x $x}}{{end}}`,
		`{{$x := "<<<<<<<<<<<<<<<<"}}{{range 60}}{{$x = html $x $x}}{{end}}`,
		`{{$x := "\"\"\"\""}}{{range 60}}{{$x = js $x $x}}{{end}}`,
		`{{printf "%2000000000d" 1}}`, `{{printf "%*d" 2000000000 1}}`, `{{printf "%.2000000000f" 1.0}}`,
		`{{range 190000}}xxxxxxxxxxxxxxxxxxxxxxxxxx{{end}}`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		got, err := install.Render(ctx, "t", text, facts())
		if err == nil {
			t.Errorf("%s: renders %d bytes", text, len(got))
		}
		if ctx.Err() != nil {
			t.Errorf("%s: until the deadline", text)
		}
		cancel()
	}
}

func TestARenderingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := install.Render(ctx, "t", `{{range 10}}x{{end}}`, facts()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestATemplateThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	if err := install.CheckTemplate("t", `{{ref "nodename"}} {{range tunnels}}{{end}}`); err != nil {
		t.Error(err)
	}
	if err := install.CheckTemplate("t", `{{end}}`); err == nil {
		t.Error("no error")
	}
}

func FuzzRender(f *testing.F) {
	for _, text := range []string{
		`{{ref "clusternodes"}}{{.port}}{{range split "a b"}}{{.}}{{end}}`, `{{key "./sec/app" "password"}}{{network "a"}}{{tunnels}}`,
		`{{define "x"}}{{index . 1}}{{end}}{{template "x" (split "a")}}`, `{{printf "%d" 3 | print | html}}`, `{{index networks 0 "x"}}`,
		`{{range $i, $x := .}}{{break}}{{continue}}{{end}}`, `{{with $x := 1}}{{else}}{{end}}`, `{{index nil}}{{index .}}{{index 1 2}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := install.Render(ctx, "t", text, facts())
		if errors.Is(err, context.DeadlineExceeded) {
			t.Error("too long")
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error tells a secret: %v", err)
		}
	})
}
