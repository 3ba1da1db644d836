// Package container has the drivers of the containers that an engine of the node
// runs: podman and docker, one implementation spoken to by their own command lines.
//
// A container is known by its labels, which tell the object and the resource it was
// made for: one of the same name made by somebody else is never touched. It lives
// below the control group of its resource, by which its processes are told.
//
// What the engine does not answer is not known: it is never down.
package container

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/process"
)

// The names of the engines.
const (
	podman = "podman"
	docker = "docker"
)

// about is what the documentation of every driver says.
const about = "It is made when the resource is started, below the control group of the resource, and labelled with the object and the resource it belongs to. A container of the same name that has not these labels is left alone. Volumes of the agent, registry credentials and rootless accounts are not handled by this version."

// Podman is the driver of the containers podman runs.
var Podman = resource.Spec{
	Group: "container", Name: podman, Kinds: []object.Kind{object.KindSvc}, Processes: true,
	Doc: "A container that podman runs. " + about,
	New: func(e resource.Env) resource.Driver { return &container{env: e, kind: podman} },
}

// Docker is the driver of the containers docker runs.
var Docker = resource.Spec{
	Group: "container", Name: docker, Kinds: []object.Kind{object.KindSvc}, Processes: true,
	Doc: "A container that docker runs. " + about,
	New: func(e resource.Env) resource.Driver { return &container{env: e, kind: docker} },
}

// OCI is the driver of the containers any engine may run.
var OCI = resource.Spec{
	Group: "container", Name: "oci", Kinds: []object.Kind{object.KindSvc}, Processes: true,
	Doc: "A container that the engine named by the oci keyword of the node configuration runs: docker where it is installed, else podman, when the keyword is not set. " + about,
	New: func(e resource.Env) resource.Driver { return &container{env: e, kind: "oci"} },
}

type container struct {
	env  resource.Env
	kind string // podman, docker or oci

	name, image, pullPolicy      string
	hostname, user, cwd          string
	netns, pidns, ipcns          string
	utsns, userns                string
	uxgrant                      string
	command, entrypoint, runArgs []string
	mounts, devices, sysctl      []string
	dnsSearch                    []string
	environment                  process.Settings
	interactive, tty, privileged bool
	init, detach, rm, logs       bool
	readOnly                     *bool
	pullTimeout                  time.Duration
	startTimeout, stopTimeout    time.Duration
}

// Keywords implements [resource.Driver].
func (c *container) Keywords(k *keyword.Table) {
	k.String(&c.name, "name", "The name of the container.").Check(checkName).Scopable().DefaultText("<namespace>..<object>.container.<index>, without <namespace>.. in the root namespace").Eg("shop-front")
	k.String(&c.image, "image", "The image the container is made of.").Alias("run_image").Default("ghcr.io/opensvc/pause").Check(checkImage).Scopable().Eg("docker.io/library/nginx:1.29")
	k.String(&c.pullPolicy, "image_pull_policy", "When the image is pulled: once, when the node has not got it, which is the default, or always, each time the container is made.").OneOf("", "once", "always").Scopable()
	k.Duration(&c.pullTimeout, "pull_timeout", "How long a pull of the image may take.").Default("2m").Scopable()
	k.Shlex(&c.command, "command", "The command run in the container, and its arguments. By default, that of the image.").Alias("run_command").Scopable().Eg("nginx -g 'daemon off;'")
	k.Shlex(&c.entrypoint, "entrypoint", "What runs the command in the container, instead of the entry point of the image. With it, the command of the image is not used.").Scopable().Eg("/usr/bin/tini --")
	k.Shlex(&c.environment.Environment, "environment", "Variables given to the container, as VAR=value. Quote the values that hold blanks.").Check(process.CheckEnvironment).Scopable().Eg(`LANG=C "TITLE=my shop"`)
	k.Shlex(&c.environment.Configs, "configs_environment", "Variables of the container that take the value of a key of a cfg object of the namespace, as VAR=name/key. Without VAR=, the variable is named after the key.").Scopable().Eg("PORT=shop/port shop/logo_url")
	k.Shlex(&c.environment.Secrets, "secrets_environment", "Variables of the container that take the value of a key of a sec object of the namespace, as VAR=name/key. Without VAR=, the variable is named after the key. The engine is given them on its input, never in its arguments; a value of several lines, or that is not text, is refused.").Scopable().Eg("PASSWORD=db/password")
	k.String(&c.hostname, "hostname", "The host name in the container. By default, the engine chooses it.").Check(keyword.Word).Scopable().Eg("front")
	k.String(&c.user, "user", "The user the command runs as in the container, as user[:group]. By default, that of the image.").Scopable().Eg("www-data")
	k.String(&c.cwd, "cwd", "The working directory in the container. By default, that of the image.").Scopable().Eg("/srv")
	c.namespaces(k)
	k.List(&c.dnsSearch, "dns_search", "The domains in which the names without dots are searched in the container.").Scopable().Eg("shop.example.com example.com")
	k.Shlex(&c.mounts, "volume_mounts", "The directories and the files of the node that the container sees, as /node/path:/path[:options]. Volumes are not handled by this version.").Check(checkMounts).Scopable().Eg("/run/opensvc-ux:/run/opensvc-ux:ro /srv/shop:/data")
	k.Shlex(&c.devices, "devices", "The devices of the node given to the container, as /dev/node[:/dev/name[:rwm]].").Scopable().Eg("/dev/fuse")
	k.Shlex(&c.sysctl, "sysctl", "Kernel settings of the namespaces of the container, as name=value.").Scopable().Eg("net.ipv4.ip_unprivileged_port_start=80")
	k.Bool(&c.privileged, "privileged", "Gives the container every right and every device of the node.").Scopable()
	k.Tristate(&c.readOnly, "read_only", "Whether the root file system of the container is read-only. By default, the engine decides.").Scopable().Eg("true")
	k.Bool(&c.init, "init", "Runs a small init in the container, which reaps processes and passes signals on. It is left out when pidns says which namespace of processes the container has.").Default("true").Scopable()
	k.Bool(&c.interactive, "interactive", "Keeps the input of the container open.").Scopable()
	k.Bool(&c.tty, "tty", "Gives the container a terminal.").Scopable()
	k.Bool(&c.detach, "detach", "Leaves the container running. When false, the start waits for the end of the container and fails with it, and the status is n/a while it does not run.").Default("true").Scopable()
	k.Bool(&c.logs, "log_outputs", "Logs what the container prints during a start that waits for its end.").Default("false").Scopable()
	k.Bool(&c.rm, "rm", "Removes the container when it is stopped, so that each start makes a new one, with the present configuration. When false, a start starts the container there is.").Scopable()
	k.Shlex(&c.runArgs, "run_args", "More options of the run command of the engine. Those that keywords set already are left out, with a warning; what would take the container out of the control group of its resource is refused.").Check(checkRunArgs).Scopable().Eg("--shm-size 1g --cap-add NET_ADMIN")
	k.Duration(&c.startTimeout, "start_timeout", "How long the engine may take to start the container; with detach = false, how long the container may run.").Default("5s").Scopable().Eg("1m")
	k.Duration(&c.stopTimeout, "stop_timeout", "How long the container has to end by itself when it is stopped. It is killed then.").Default("10s").Scopable().Eg("1m")
	k.String(&c.uxgrant, "uxgrant", "The grants that the processes of the container have on the user socket of the agent, when the directory of the socket, /run/opensvc-ux, is mounted in the container. By default, none.").Check(checkGrants).Scopable().Eg("operator:shop")
}

// namespaces declares the keywords that tell which namespaces the container joins.
func (c *container) namespaces(k *keyword.Table) {
	declare := func(p *string, name, what string, words ...string) *keyword.Keyword {
		help := "The namespace of " + what + " of the container: " + strings.Join(words, " or ") + ", host being that of the node" +
			"; or container#<index>, that of another container of the object, which must run. By default, one of its own."
		return k.String(p, name, help).Check(checkNamespace(name, words)).Sections(otherContainer).Scopable()
	}
	declare(&c.netns, "netns", "the network", "host", "none").Alias("net").Eg("container#0")
	declare(&c.pidns, "pidns", "the processes", "host").Eg("container#0")
	declare(&c.ipcns, "ipcns", "shared memory and semaphores", "host").Eg("container#0")
	k.String(&c.utsns, "utsns", "The namespace of the host name of the container: host, that of the node. By default, one of its own.").OneOf("", "host").Scopable()
	k.String(&c.userns, "userns", "The namespace of the users of the container: host, that of the node. By default, what the engine is configured for.").OneOf("", "host").Scopable()
}

const joined = "container#"

// otherContainer names the section that the value of a namespace refers to.
func otherContainer(text string) []string {
	if text = strings.TrimSpace(text); strings.HasPrefix(text, joined) {
		return []string{text}
	}
	return nil
}

func checkNamespace(name string, words []string) func(string) error {
	return func(text string) error {
		if text == "" || len(otherContainer(text)) > 0 || slices.Contains(words, text) {
			return nil
		}
		return fmt.Errorf("%q is no namespace this version joins: %s is %s, or container#<index>", text, name, strings.Join(words, ", "))
	}
}

var (
	namePattern  = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)
	imagePattern = regexp.MustCompile(`^([a-zA-Z0-9][a-zA-Z0-9.-]*(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@[a-z0-9]+:[0-9a-f]{32,})?$`)
)

func checkName(text string) error {
	if text == "" || namePattern.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%q is no name of a container: letters, digits, dots, dashes and underscores", text)
}

// checkImage accepts names of images alone: the engines take also names of files of
// the node, and options.
func checkImage(text string) error {
	if imagePattern.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%q is no name of an image: write it as docker.io/library/nginx:1.29", text)
}

// checkMounts is the rule of volume_mounts.
func checkMounts(text string) error {
	words, err := config.ParseShlex(text)
	if err != nil {
		return err
	}
	for _, w := range words {
		if err := checkMount(w); err != nil {
			return err
		}
	}
	return nil
}

var mountOptions = regexp.MustCompile(`^[a-zA-Z]+(,[a-zA-Z]+)*$`)

func checkMount(word string) error {
	parts := strings.Split(word, ":")
	switch {
	case len(parts) != 2 && len(parts) != 3 || !strings.HasPrefix(parts[1], "/"):
		return fmt.Errorf("%q is not /node/path:/path[:options]", word)
	case !strings.HasPrefix(parts[0], "/"):
		return fmt.Errorf("%q: %s would be a volume, which this version has not: mount a directory of the node, as /srv/data:%s", word, parts[0], parts[1])
	case path.Clean(parts[0]) != strings.TrimRight(parts[0], "/") && parts[0] != "/":
		return fmt.Errorf("%q: write the directory of the node as %s", word, path.Clean(parts[0]))
	case len(parts) == 3 && !mountOptions.MatchString(parts[2]):
		return fmt.Errorf("%q: %q is no list of options, as ro,z", word, parts[2])
	}
	return nil
}

func checkGrants(text string) error {
	_, err := rbac.Parse(strings.ToLower(text))
	return err
}
