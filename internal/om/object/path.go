// Package object names things: object paths, kinds, and the selector grammars
// that designate sets of objects and nodes.
//
// A path is namespace/kind/name. Its canonical printed form drops what is
// implied ("x" for root/svc/x, "vol/x" for root/vol/x), its fully qualified
// form always has the three parts. The package is pure: it reads no file.
package object

import (
	"fmt"
	"strings"
)

// Kind tells what an object is for.
type Kind string

// The object kinds.
const (
	KindSvc   Kind = "svc"   // a service
	KindVol   Kind = "vol"   // a data volume
	KindCfg   Kind = "cfg"   // a configuration map
	KindSec   Kind = "sec"   // a secret map
	KindUsr   Kind = "usr"   // a user
	KindNscfg Kind = "nscfg" // a namespace configuration
	KindCcfg  Kind = "ccfg"  // the cluster configuration
)

// RootNamespace is the namespace of the objects created without one.
const RootNamespace = "root"

// SystemNamespace holds the objects of the agent itself.
const SystemNamespace = "system"

// namespaceName is the name of every namespace configuration.
const namespaceName = "namespace"

// Kinds lists every kind, in documentation order.
func Kinds() []Kind {
	return []Kind{KindSvc, KindVol, KindCfg, KindSec, KindUsr, KindNscfg, KindCcfg}
}

// ParseKind returns the kind named s.
func ParseKind(s string) (Kind, error) {
	for _, k := range Kinds() {
		if string(k) == s {
			return k, nil
		}
	}
	return "", fmt.Errorf("unknown object kind %q: use one of svc, vol, cfg, sec, usr, nscfg, ccfg", s)
}

// Runs reports whether objects of this kind have resources that start and stop.
func (k Kind) Runs() bool { return k == KindSvc || k == KindVol }

// Stores reports whether objects of this kind hold data keys.
func (k Kind) Stores() bool { return k == KindCfg || k == KindSec || k == KindUsr }

// Path is the name of an object. The zero Path names nothing.
type Path struct {
	Namespace string
	Kind      Kind
	Name      string
}

// Cluster is the path of the cluster configuration object.
func Cluster() Path { return Path{Namespace: RootNamespace, Kind: KindCcfg, Name: "cluster"} }

// IsZero reports whether p names nothing.
func (p Path) IsZero() bool { return p == Path{} }

// FQN returns the fully qualified, three part form of p.
func (p Path) FQN() string { return p.Namespace + "/" + string(p.Kind) + "/" + p.Name }

// String returns the canonical form of p: the shortest that [Parse] reads back.
func (p Path) String() string {
	switch {
	case p.IsZero():
		return ""
	case p == Cluster():
		return "cluster"
	case p.Kind == KindNscfg && p.Name == namespaceName:
		return p.Namespace + "/"
	case p.Namespace != RootNamespace:
		return p.FQN()
	case p.Kind == KindSvc:
		return p.Name
	default:
		return string(p.Kind) + "/" + p.Name
	}
}

// FQDN returns the name of the object in the DNS zone of the cluster.
func (p Path) FQDN(cluster string) string { return p.Name + "." + p.Domain(cluster) }

// Domain returns the DNS domain of the objects of the same namespace and kind.
func (p Path) Domain(cluster string) string {
	return p.Namespace + "." + string(p.Kind) + "." + cluster
}

// ConfigFile returns the configuration file of the object, relative to the
// configuration directory of the agent.
func (p Path) ConfigFile() string { return p.file() + ".conf" }

// StateDir returns the private directory of the object, relative to the state
// directory of the agent.
func (p Path) StateDir() string {
	if p.Namespace == RootNamespace {
		return string(p.Kind) + "/" + p.Name
	}
	return p.file()
}

func (p Path) file() string {
	switch {
	case p == Cluster():
		return "cluster"
	case p.Namespace != RootNamespace:
		return "namespaces/" + p.FQN()
	case p.Kind == KindSvc:
		return p.Name
	default:
		return string(p.Kind) + "/" + p.Name
	}
}

// FromConfigFile returns the path of the object whose configuration file is
// rel, relative to the configuration directory. Files that are no object's
// (node.conf, temporary files) give false.
func FromConfigFile(rel string) (Path, bool) {
	base, ok := strings.CutSuffix(rel, ".conf")
	if !ok || base == "node" {
		return Path{}, false
	}
	rest, namespaced := strings.CutPrefix(base, "namespaces/")
	if strings.Count(rest, "/") == 2 != namespaced {
		return Path{}, false
	}
	p, err := Parse(rest)
	if err != nil || p.ConfigFile() != rel {
		return Path{}, false
	}
	return p, true
}

// Compare orders paths by namespace, kind then name.
func Compare(a, b Path) int { return strings.Compare(a.FQN(), b.FQN()) }

// MarshalText returns the canonical form.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses any form of a path.
func (p *Path) UnmarshalText(b []byte) (err error) {
	*p, err = Parse(string(b))
	return err
}
