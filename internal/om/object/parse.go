package object

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	namespacePattern = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	namePattern      = regexp.MustCompile(`^[a-z]([a-z0-9.-]*[a-z0-9])?$`)
)

// Parse reads a path in any of its forms: name, kind/name,
// namespace/kind/name, namespace/ and cluster.
func Parse(s string) (Path, error) { return ParseRelative(s, RootNamespace) }

// ParseRelative reads a path written in the configuration of an object of
// namespace from: a leading "./" stands for that namespace. A path that is not
// relative is read as [Parse] does.
func ParseRelative(s, from string) (Path, error) {
	var p Path
	switch parts := strings.Split(s, "/"); {
	case s == "":
		return Path{}, errors.New("empty object path: write name, kind/name or namespace/kind/name")
	case s == "cluster":
		return Cluster(), nil
	case len(parts) == 1:
		p = Path{Namespace: RootNamespace, Kind: KindSvc, Name: s}
	case s == "/":
		return Path{}, fmt.Errorf("object path %q names no namespace: write namespace/, as %s/", s, RootNamespace)
	case len(parts) == 2 && parts[1] == "":
		p = Path{Namespace: parts[0], Kind: KindNscfg, Name: namespaceName}
	case len(parts) == 2:
		p = Path{Namespace: RootNamespace, Kind: Kind(parts[0]), Name: parts[1]}
	case len(parts) == 3:
		p = Path{Namespace: parts[0], Kind: Kind(parts[1]), Name: parts[2]}
	default:
		return Path{}, fmt.Errorf("object path %q has %d parts: write name, kind/name or namespace/kind/name", s, len(parts))
	}
	switch p.Namespace {
	case "":
		p.Namespace = RootNamespace
	case ".":
		p.Namespace = from
	}
	if err := p.Validate(); err != nil {
		return Path{}, err
	}
	return p, nil
}

// Validate reports what is wrong with the parts of p.
func (p Path) Validate() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("object path %q: "+format, append([]any{p.FQN()}, a...)...)
	}
	if lower := strings.ToLower(p.FQN()); lower != p.FQN() {
		return bad("upper case is not allowed: use %q", lower)
	}
	if _, err := ParseKind(string(p.Kind)); err != nil {
		return bad("%w", err)
	}
	if !namespacePattern.MatchString(p.Namespace) || len(p.Namespace) > 63 {
		return bad("namespace %q must start with a letter, end with a letter or a digit, hold only letters, digits and dashes, and be at most 63 long", p.Namespace)
	}
	base := strings.TrimLeft(p.Name, "0123456789.") // what precedes is the index of a scaler slice
	if !namePattern.MatchString(base) || len(p.Name) > 63 || p.Name[0] == '.' || strings.Contains(p.Name, "..") {
		return bad("name %q must start with a letter, end with a letter or a digit, hold only letters, digits, dashes and dots, and be at most 63 long", p.Name)
	}
	if p.Kind == KindNscfg && p.Name != namespaceName {
		return bad("the configuration of a namespace has no name of its own: use %q", p.Namespace+"/")
	}
	if p.reserved() {
		return bad("name %q is reserved", p.Name)
	}
	return nil
}

func (p Path) reserved() bool {
	if p == Cluster() {
		return false
	}
	if p.Kind == KindCcfg {
		return true
	}
	if p.Name == "node" || p.Name == "cluster" && p.Namespace == RootNamespace && p.Kind == KindSvc {
		return true
	}
	if p.Name == namespaceName && p.Namespace == RootNamespace && p.Kind == KindSvc {
		return true
	}
	_, err := ParseKind(p.Name)
	return err == nil
}
