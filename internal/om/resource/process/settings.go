package process

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Settings are the keywords that tell how the commands of a resource run.
type Settings struct {
	User, Group, Dir string
	Umask            *fs.FileMode
	Environment      []string
	Configs, Secrets []string
	Timeout          time.Duration
	StopTimeout      time.Duration

	sizes map[string]*int64
	cpu   time.Duration
}

// Keywords declares them.
func (s *Settings) Keywords(k *keyword.Table) {
	k.String(&s.User, "user", "The user the commands run as, by name or number, with its supplementary groups. By default, that of the agent.").Check(keyword.Account).Scopable().Eg("www-data")
	k.String(&s.Group, "group", "The group the commands run as, by name or number. By default, that of the user.").Check(keyword.Account).Scopable().Eg("www-data")
	k.String(&s.Dir, "cwd", "The working directory of the commands.").Check(keyword.File).Scopable().Eg("/srv/{fqdn}")
	k.Umask(&s.Umask, "umask", "The file creation mask of the commands, in octal. By default, that of the agent.").Scopable().Eg("022")
	k.Shlex(&s.Environment, "environment", "Variables added to the environment of the commands, as VAR=value. Quote the values that hold blanks.").Scopable().Check(CheckEnvironment).Eg(`LANG=C "TITLE=my shop"`)
	k.Shlex(&s.Configs, "configs_environment", "Variables that take the value of a key of a cfg object of the namespace, as VAR=name/key. Without VAR=, the variable is named after the key.").Check(keyword.Variables).Scopable().Eg("PORT=shop/port shop/logo_url")
	k.Shlex(&s.Secrets, "secrets_environment", "Variables that take the value of a key of a sec object of the namespace, as VAR=name/key. Without VAR=, the variable is named after the key.").Check(keyword.Variables).Scopable().Eg("PASSWORD=db/password")
	k.Duration(&s.Timeout, "timeout", "How long a command may take, when no keyword says it for that command.").Scopable().Eg("1m30s")
	k.Duration(&s.StopTimeout, "stop_timeout", "How long the stop may take. By default, timeout.").Scopable().Eg("30s")
	s.limit(k, "as", "The largest size of the address space of each process.", "2g")
	s.limit(k, "core", "The largest core file a process may leave.", "0")
	k.Duration(&s.cpu, "limit_cpu", "The processor time a process may use, in whole seconds.").Scopable().Eg("1h")
	s.limit(k, "data", "The largest size of the data segment of each process.", "1g")
	s.limit(k, "fsize", "The largest file a process may write.", "10g")
	s.limit(k, "memlock", "The memory a process may lock.", "64m")
	s.limit(k, "nofile", "How many files a process may hold open.", "65536")
	s.limit(k, "nproc", "How many processes the user may have.", "4096")
	s.limit(k, "rss", "The largest resident memory of each process. Linux ignores it.", "1g")
	s.limit(k, "stack", "The largest stack of each process.", "8m")
	s.limit(k, "vmem", "The same limit as limit_as, under another name.", "2g")
}

func (s *Settings) limit(k *keyword.Table, name, help, example string) {
	if s.sizes == nil {
		s.sizes = map[string]*int64{}
	}
	unset := int64(-1)
	s.sizes[name] = &unset
	k.Size(&unset, "limit_"+name, help).Scopable().Eg(example)
}

// Options is how `om exec` is to launch a command of the resource.
func (s *Settings) Options(e resource.Env, argv []string) launch.Options {
	o := launch.Options{Cgroup: e.Cgroup, Dir: s.Dir, User: s.User, Group: s.Group, Argv: In(e.CommandDir, argv)}
	if s.Umask != nil {
		o.Umask = fmt.Sprintf("%03o", *s.Umask)
	}
	for _, name := range launch.LimitNames() {
		if v := s.sizes[name]; v != nil && *v >= 0 {
			o.Limits = append(o.Limits, name+"="+strconv.FormatInt(*v, 10))
		}
	}
	if s.cpu > 0 {
		o.Limits = append(o.Limits, "cpu="+strconv.FormatInt(int64((s.cpu+time.Second-1)/time.Second), 10))
	}
	return o
}

// Environ is the environment of the commands of the resource.
func (s *Settings) Environ(e resource.Env) ([]string, error) {
	env := append([]string(nil), e.Vars...)
	for _, v := range s.Environment {
		if err := checkVariable(v); err != nil {
			return nil, err
		}
		env = append(env, v)
	}
	for _, from := range []struct {
		option string
		kind   object.Kind
		items  []string
	}{{"configs_environment", object.KindCfg, s.Configs}, {"secrets_environment", object.KindSec, s.Secrets}} {
		for _, item := range from.items {
			v, err := dataVariable(e, from.kind, item)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", from.option, err)
			}
			env = append(env, v)
		}
	}
	return env, nil
}

// CheckEnvironment tells what is wrong in a list of VAR=value words. It is a rule for
// [keyword.Keyword.Check].
func CheckEnvironment(text string) error {
	variables, err := config.ParseShlex(text)
	for _, v := range variables {
		err = errors.Join(err, checkVariable(v))
	}
	return err
}

func checkVariable(v string) error {
	if strings.IndexByte(v, '=') <= 0 {
		return fmt.Errorf("environment: %q is not VAR=value", v)
	}
	return nil
}

// dataVariable reads "VAR=name/key" or "name/key" into "VAR=value".
func dataVariable(e resource.Env, kind object.Kind, item string) (string, error) {
	variable, source, named := strings.Cut(item, "=")
	if !named {
		source = variable
	}
	name, key, ok := strings.Cut(source, "/")
	if !ok || name == "" || key == "" || named && variable == "" {
		return "", fmt.Errorf("%q is not VAR=name/key", item)
	}
	if !named {
		variable = variableName(key)
	}
	if e.Data == nil {
		return "", fmt.Errorf("%s: no data store", item)
	}
	p := object.Path{Namespace: e.Path.Namespace, Kind: kind, Name: name}
	value, err := e.Data(p, key)
	if err != nil {
		return "", &dataError{item: item, err: err}
	}
	if strings.IndexByte(string(value), 0) >= 0 {
		return "", fmt.Errorf("%s: key %s of %s holds a zero byte, which no environment can", item, key, p)
	}
	return variable + "=" + string(value), nil
}

// dataError tells that a key could not be read.
type dataError struct {
	item string
	err  error
}

// Error names the variable.
func (e *dataError) Error() string { return e.item + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *dataError) Unwrap() error { return e.err }

// ExitCode is that of a failure: what is missing is not the object acted on.
func (*dataError) ExitCode() int { return 1 }

// birthplace makes the control group of a command, and returns its directory where
// a process can be born in it; nothing elsewhere, and for no group.
func birthplace(group string) string {
	if group == "" {
		return ""
	}
	tree, err := cgroup.Open()
	if err != nil || !tree.Unified() || tree.Create(group) != nil {
		return "" // the process, which joins it by itself, will say why it cannot
	}
	return tree.Dir(group)
}

// variableName makes a variable name of a key: "tls/server.key" is TLS_SERVER_KEY.
func variableName(key string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToUpper(key))
}

// Command is the command to give to the runner for argv, and how it reads in a
// log: what was configured, and the control group it goes to. The first of the
// files it is given must be that of a [launch.Watch].
func (s *Settings) Command(e resource.Env, o launch.Options) (c host.Cmd, shown string, err error) {
	env, err := s.Environ(e)
	if err != nil {
		return host.Cmd{}, "", err
	}
	o.Report = launch.ReportFD
	c = host.Cmd{Argv: append([]string{e.Host.Self, "exec"}, o.Args()...), Env: env, Dir: "/"}
	c.Cgroup = birthplace(o.Cgroup)
	o.Record, o.Lock, o.Report = "", 0, 0
	return c, "om exec " + host.Quote(o.Args()), nil
}
