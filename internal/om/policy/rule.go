// Package policy says which keywords ask for more than the role that lets
// somebody write the object they are in, and which keywords a write changes.
//
// Some keywords act on the node rather than on the object: a trigger runs a
// command as root, a filesystem takes a device. [For] is the table of what they
// ask. [Check] compares two versions of a configuration by what each keyword
// evaluates to, on every node, so that moving what a keyword refers to counts as
// changing the keyword. The package is pure.
//
// What the table does not name asks for root: a driver, or a keyword of one,
// that is added later is refused until a rule opens it.
package policy

import (
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Rule is what a keyword asks of who sets it, besides the role on the object.
// The zero Rule asks for nothing.
type Rule struct {
	Role   rbac.Role                          // empty: nothing
	Unless func(namespace, value string) bool // the values that ask for nothing; nil: none
	Except string                             // says which values they are
}

// IsOpen reports whether the rule asks for nothing, whatever the value.
func (r Rule) IsOpen() bool { return r.Role == "" }

// Needs returns the role that a value asks for, empty when it asks for none.
func (r Rule) Needs(namespace, value string) rbac.Role {
	if r.Role == "" || r.Unless != nil && r.Unless(namespace, value) {
		return ""
	}
	return r.Role
}

// String says the rule in a sentence, as the documentation of a keyword does.
func (r Rule) String() string {
	switch {
	case r.Role == "":
		return ""
	case r.Except != "":
		return "Requires the " + string(r.Role) + " grant, except " + r.Except + "."
	default:
		return "Requires the " + string(r.Role) + " grant."
	}
}

func open() Rule { return Rule{} }

func root() Rule { return Rule{Role: rbac.Root} }

func (r Rule) unless(except string, f func(namespace, value string) bool) Rule {
	r.Unless, r.Except = f, except
	return r
}

// values is the root rule, these values excepted.
func values(values ...string) Rule {
	return root().unless("for the values "+strings.Join(values, ", "), func(_, value string) bool {
		return slices.Contains(values, strings.TrimSpace(value))
	})
}

// For returns the rule of a keyword of the objects of a kind. driver is that of
// its section, as "fs.flag", or the name of a section without drivers, as
// "DEFAULT"; option is the name of the keyword, not an alias.
func For(kind object.Kind, driver, option string) Rule {
	group, typ, _ := strings.Cut(driver, ".")
	switch kind {
	case object.KindNscfg:
		return Rule{Role: rbac.Squatter}
	case object.KindVol:
		if group == config.DefaultSection && (option == "size" || option == "id") {
			return open()
		}
		return root()
	case object.KindSvc, object.KindCfg, object.KindSec, object.KindUsr:
	case object.KindCcfg:
		return root()
	default: // the configuration of a node
		return root()
	}
	if IsTrigger(option) {
		return root()
	}
	switch group {
	case config.DefaultSection:
		return ofHead(option)
	case "env", "labels", "data", "subset":
		return open()
	case "acme":
		return in("directory renew_before", option)
	default:
		return ofResource(group, typ, option)
	}
}

// IsTrigger reports whether a keyword is a command run around an action.
func IsTrigger(option string) bool {
	option = strings.TrimPrefix(option, "blocking_")
	return strings.HasPrefix(option, "pre_") || strings.HasPrefix(option, "post_")
}

// in opens the keywords of a blank separated list.
func in(names, option string) Rule {
	if slices.Contains(strings.Fields(names), option) {
		return open()
	}
	return root()
}

// ofHead is the table of the DEFAULT section.
func ofHead(option string) Rule {
	switch {
	case option == "priority":
		return Rule{Role: rbac.Prioritizer}
	case option == "monitor_action": // the others end the node
		return root().unless("for the values none, freezestop, switch", func(_, value string) bool {
			return !slices.ContainsFunc(strings.Fields(value), func(word string) bool {
				return word != "none" && word != "freezestop" && word != "switch"
			})
		})
	case option == "create_pg": // without a group of its own, the object escapes the caps of its namespace
		return values("true")
	case option == "ca":
		return root().unless("for an authority of the namespace", isOwnSec)
	case strings.HasSuffix(option, "timeout"), strings.HasSuffix(option, "_schedule"), strings.HasPrefix(option, "pg_"):
		return open()
	}
	return in("id app env comment nodes drpnodes encapnodes topology orchestrate placement flex_min flex_max flex_target flex_primary "+
		"rollback disable shared provision unprovision parents children hard_affinity hard_anti_affinity soft_affinity soft_anti_affinity "+
		"share cn alt_names c st l o ou email bits validity", option)
}

// isOwnSec reports whether a value names a sec of the namespace.
func isOwnSec(namespace, value string) bool {
	value = strings.TrimSpace(value)
	if value == "" {
		return true
	}
	p, err := object.ParseRelative(value, namespace)
	return err == nil && p.Namespace == namespace && namespace != object.SystemNamespace
}

// always lists what every resource lets its object say: nothing of it takes
// anything from the node.
const always = "desc tags subset disable optional monitor restart restart_delay comment " +
	"start_requires stop_requires provision_requires unprovision_requires run_requires"

// given is what the resources made of what the cluster shares let their object
// say too: for the others it would move, or destroy, what the node gave.
const given = "shared provision unprovision standby "

// ofResource is the table of the resources.
func ofResource(group, typ, option string) Rule {
	if slices.Contains(strings.Fields(always), option) || option == "timeout" || strings.HasSuffix(option, "_timeout") ||
		strings.HasPrefix(option, "pg_") {
		return open()
	}
	switch group {
	case "ip":
		if option == "type" {
			return values("netns", "cni")
		}
		return in("network netns expose shared", option)
	case "fs":
		switch {
		case option == "type":
			return values("flag")
		case typ == "flag":
			return open()
		}
	case "volume":
		if option == "install" {
			return root().unless("when nothing is set-id nor made of a file of the server", isPlainInstall)
		}
		return in(given+"type name pool size access format user group perm dirperm directories configs secrets signal", option)
	case "container":
		return ofContainer(option)
	case "task":
		return ofTask(typ, option)
	}
	return root()
}

// ofContainer opens what happens inside the container.
func ofContainer(option string) Rule {
	switch option {
	case "type":
		return values("docker", "podman", "oci")
	case "netns", "pidns", "ipcns", "utsns", "userns":
		return root().unless("for none and the namespaces of other containers", func(_, value string) bool {
			value = strings.TrimSpace(value)
			return value == "" || value == "none" || strings.HasPrefix(value, "container#")
		})
	case "volume_mounts":
		return root().unless("for volumes", mountsVolumes)
	}
	return in(given+"image image_pull_policy command entrypoint environment configs_environment secrets_environment "+
		"hostname interactive tty rm detach cwd read_only dns_search log_outputs", option)
}

// mountsVolumes reports whether every source is a volume resource.
func mountsVolumes(_, value string) bool {
	for word := range strings.FieldsSeq(value) {
		source, _, _ := strings.Cut(word, ":")
		if !strings.HasPrefix(source, "volume#") || strings.Contains(source, "..") {
			return false
		}
	}
	return true
}

// ofTask opens when a task runs, and what it does inside a container.
func ofTask(typ, option string) Rule {
	switch {
	case option == "type":
		return values("docker", "podman", "oci", "acme")
	case slices.Contains(strings.Fields("schedule on max_parallel confirmation log check snooze retcodes"), option):
		return open()
	case typ == "acme" && option == "webroot":
		return root().unless("for a directory of a volume", func(_, value string) bool {
			return strings.HasPrefix(strings.TrimSpace(value), "volume#") && !strings.Contains(value, "..")
		})
	case typ == "acme":
		return in("secs", option)
	case typ == "docker", typ == "podman", typ == "oci":
		return ofContainer(option)
	}
	return root()
}

// isPlainInstall reports whether an install lays down keys of cfg and sec
// objects as files that give nobody a right: without set-id bits, and not out of
// a file of the server. What is not understood is not plain.
func isPlainInstall(_, value string) bool {
	words, err := config.ParseShlex(value)
	if err != nil {
		return false
	}
	for i := 0; i < len(words); i++ {
		option := words[i]
		if strings.HasPrefix(option, "/") || option == "template" || option == "required" {
			continue
		}
		if i++; i == len(words) {
			return false
		}
		switch given := words[i]; option {
		case "from", "key", "user", "group", "signal":
		case "mode":
			mode, err := config.ParseFileMode(given)
			if err != nil || mode != mode.Perm() {
				return false
			}
		case "source":
			if !strings.HasPrefix(given, "https://") && !strings.HasPrefix(given, "http://") {
				return false
			}
		default:
			return false
		}
	}
	return true
}
