// Package koctest runs commands of koc against a cloud that answers from a
// script, in memory and in virtual time: waiting costs nothing.
//
//	koctest.Test(t, network.Commands(), stock, []koctest.Case{{
//		Line: "network create --mtu 1400 net1",
//		API: `
//			POST network /networks {"network":{"name":"net1","mtu":1400}}
//			= {"network":{"id":"n1","name":"net1","mtu":1400}}`,
//		Out: "...",
//	}})
//
// A script is what a command line must send, and the answers:
//
//	METHOD SERVICE PATH[?QUERY] [BODY]   a request; the body is JSON, in any order of names, or * for any
//	H NAME: VALUE                        a header it must have
//	= [STATUS] [BODY]                    the answer
//	^C                                   the run is interrupted before the answer, which
//	                                     never comes when there is none
//
// The text of a line may go on in the next ones, as long as they do not begin so.
// Without an answer, a DELETE is answered with 204, a write with what it sent (a
// POST gets the id "new"), anything else with {}. Requests may come in any order,
// but writes come in theirs. Each must come, and no other may, except that a GET
// which the script does not have is answered from the stock: by id, and lists
// filtered by the query.
package koctest

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// Case is a command line and what comes of it.
type Case struct {
	Line string // words and quotes as in a shell
	API  string // the script
	// Out is what is printed, without blanks at its ends; "" is not looked at, "-" is nothing.
	Out string
	Err string // part of the error; "" is success
	// Compat runs it in the voice of the openstack client.
	Compat bool
	Stdin  string
	Env    map[string]string
	// Set holds more settings of the session, as "compute_api_version": "2.90".
	Set map[string]string
}

// Stock is what a service has of a kind, for commands to find.
type Stock struct {
	Service, Path, Keys, Key string // "network", "/networks", "networks", "network"; "" for a list or thing without envelope
	Items                    string // JSON
}

// Test runs cases, each by itself.
func Test(t *testing.T, entries []command.Entry, stock []Stock, cases []Case) {
	t.Helper()
	for _, k := range cases {
		t.Run(k.Line, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				t.Helper()
				out, err := Run(t, entries, stock, k)
				switch {
				case k.Err == "" && err != nil:
					t.Fatalf("error: %v", err)
				case k.Err != "" && err == nil:
					t.Fatalf("no error, want %q; printed:\n%s", k.Err, out)
				case k.Err != "" && !strings.Contains(err.Error(), k.Err):
					t.Fatalf("error %q, want %q", err, k.Err)
				}
				want := k.Out
				if want == "" {
					return
				}
				if want == "-" {
					want = ""
				}
				if diff := cmp.Diff(dedent(want), strings.TrimSpace(out)); diff != "" {
					t.Errorf("output (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Run runs one case and returns what it printed. What was asked for and did not
// come, or came unasked for, fails the test.
func Run(t *testing.T, entries []command.Entry, stock []Stock, k Case) (out string, err error) {
	t.Helper()
	streams, in, printed, notes := iostreams.Test()
	in.WriteString(k.Stdin)
	fake := newFake(t, k.API, stock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fake.interrupt = cancel
	c, err := Call(entries, k, streams, fake)
	if err == nil {
		err = c.run(ctx)
	}
	fake.finish()
	if notes.Len() > 0 {
		t.Logf("stderr: %s", notes)
	}
	return printed.String(), err
}

// Ready is a command that is ready to run.
type Ready struct {
	*command.Call
	Command command.Command
}

func (r *Ready) run(ctx context.Context) error { return r.Command.Run(ctx, r.Call) }

// Call prepares the command that a line names.
func Call(entries []command.Entry, k Case, streams *iostreams.Streams, fake *Fake) (*Ready, error) {
	words, err := split(k.Line)
	if err != nil {
		return nil, err
	}
	entry, rest, err := find(entries, words)
	if err != nil {
		return nil, err
	}
	cmd := entry.Build()
	values, err := command.Parse(&cmd, nil, rest)
	if err != nil {
		return nil, err
	}
	env := func(name string) string { return k.Env[name] }
	c := &command.Call{Values: values, Name: entry.Name, Streams: streams, Env: env, Cloud: Cloud(fake, streams, k.Compat, k.Set)}
	if k.Compat {
		c.Output.Voice = render.OpenStack
	}
	if cmd.Output != command.None {
		c.Output.Format = values.Text("format")
		c.Output.Columns = values.Texts("column")
	}
	if cmd.Output == command.Listed {
		c.Output.SortBy = values.Texts("sort-column")
		c.Output.Descending = values.Is("sort-descending")
	}
	return &Ready{c, cmd}, nil
}

// Cloud is a session with the fake cloud, with more settings where there are any.
func Cloud(fake *Fake, streams *iostreams.Streams, compat bool, more ...map[string]string) *cloud.Cloud {
	set := map[string]string{
		"auth_url": "https://identity.test/v3", "username": "admin", "password": "secret", "project_name": "admin",
		"user_domain_id": "default", "project_domain_id": "default",
	}
	for _, m := range more {
		maps.Copy(set, m)
	}
	return cloud.New(cloud.Options{Set: set, Streams: streams, Version: "test", Compat: compat, Transport: fake})
}

// Answering is a session with a cloud whose services answer each GET with what a
// function makes of the path, for fuzzing.
func Answering(t *testing.T, answer func(path string) string) *cloud.Cloud {
	t.Helper()
	f := newFake(t, "", nil)
	f.answer = answer
	streams, _, _, _ := iostreams.Test()
	return Cloud(f, streams, false)
}
