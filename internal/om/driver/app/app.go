// Package app has the drivers of applications: commands and processes that the
// agent starts, watches and stops.
package app

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/process"
)

// commands are the settings both drivers have.
type commands struct {
	env resource.Env
	process.Settings

	script, start, stop, check, info string
	checkTimeout, infoTimeout        time.Duration
	retcodes                         string
	statusLog                        bool
}

func (a *commands) declare(k *keyword.Table, start, stop, check string) {
	k.String(&a.script, "script", "The command that start, stop, check and info call with their own name when they are true. A relative name is searched in <etc>/<name>.d first.").Scopable().Eg("/srv/shop/bin/init").Check(process.Check)
	k.String(&a.start, "start", start).Check(process.Check).Scopable().Eg("/usr/sbin/nginx -g 'daemon off;'")
	k.String(&a.stop, "stop", stop).Check(process.Check).Scopable().Eg("/srv/shop/bin/stop")
	k.String(&a.check, "check", check).Check(process.Check).Scopable().Eg("/usr/bin/curl -fs http://localhost:8099/")
	k.String(&a.info, "info", "A command that prints key:value lines, added to the resource info; true calls the script. Lines that are not exactly key:value are dropped.").Check(process.Check).Scopable().Default("false").Eg("/srv/shop/bin/inventory")
	k.Duration(&a.checkTimeout, "check_timeout", "How long the check may take. By default, timeout.").Scopable().Eg("10s")
	k.Duration(&a.infoTimeout, "info_timeout", "How long the info command may take. By default, timeout.").Scopable().Eg("10s")
	k.String(&a.retcodes, "retcodes", "What the exit statuses of the check mean, as code:status items. Statuses are up, down, warn and n/a; a code that is not listed is warn.").Default("0:up 1:down").Scopable().Eg("0:up 1:down 3:n/a").Check(process.CheckRetCodes)
	k.Bool(&a.statusLog, "status_log", "Adds what the check prints to the status of the resource: errors as warnings.").Default("false").Scopable()
	a.Settings.Keywords(k)
}

// verb runs the command of a keyword, if there is one.
func (a *commands) verb(ctx context.Context, value, name string, timeout time.Duration) error {
	command, ok, err := process.Verb(value, a.script, name)
	if !ok || err != nil {
		return err
	}
	return a.Run(ctx, a.env, command, process.FirstOf(timeout, a.Timeout))
}

// checked is the status the check gives; false when there is no check.
func (a *commands) checked(ctx context.Context) (resource.State, bool) {
	command, ok, err := process.Verb(a.check, a.script, "check")
	if !ok && err == nil {
		return resource.State{}, false
	}
	state := resource.State{Status: cluster.Warn}
	remark := func(level, message string) {
		state.Log = append(state.Log, cluster.ResourceLogEntry{Level: level, Message: message})
	}
	codes, codesErr := process.ParseRetCodes(a.retcodes)
	if err == nil {
		err = codesErr
	}
	if err != nil {
		remark("error", err.Error())
		return state, true
	}
	out, code, err := a.ask(ctx, command, process.FirstOf(a.checkTimeout, a.Timeout))
	if err != nil {
		remark("error", "check: "+err.Error())
		return state, true
	}
	status, entry := codes.Status(code)
	state.Status = status
	if entry != nil {
		state.Log = append(state.Log, *entry)
	}
	if a.statusLog {
		for _, from := range []struct {
			level string
			text  []byte
		}{{"info", out.Stdout}, {"warn", out.Stderr}} {
			for line := range strings.Lines(string(from.text)) {
				if line = strings.TrimSpace(line); line != "" {
					remark(from.level, line)
				}
			}
		}
	}
	return state, true
}

// ask runs a command that only looks. It stays out of the control group: it is no
// process of the application, which a stop ends and whose leftovers are told.
func (a *commands) ask(ctx context.Context, command string, timeout time.Duration) (out host.Output, code int, err error) {
	env := a.env
	env.Cgroup = ""
	return a.Ask(ctx, env, command, timeout)
}

// Info implements [resource.Informer].
func (a *commands) Info(ctx context.Context) (map[string]string, error) {
	known := map[string]string{}
	for _, kv := range [][2]string{{"script", a.script}, {"start", a.start}, {"stop", a.stop}, {"check", a.check}} {
		if kv[1] != "" {
			known[kv[0]] = kv[1]
		}
	}
	command, ok, err := process.Verb(a.info, a.script, "info")
	if !ok || err != nil {
		return known, err
	}
	out, code, err := a.ask(ctx, command, process.FirstOf(a.infoTimeout, a.Timeout))
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, &infoError{command: command, code: code, stderr: string(bytes.TrimSpace(out.Stderr))}
	}
	for line := range strings.Lines(string(out.Stdout)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.Contains(value, ":") {
			known[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return known, nil
}
