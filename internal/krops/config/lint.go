package config

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Lint checks a configuration against the repository it belongs to. The problems
// come in the order of the file.
func (f *File) Lint(root fs.FS) []Problem {
	l := &linter{File: f, root: root, taken: taken()}
	for _, name := range []string{"flux-operator", "cert-manager", "capi-operator"} {
		l.chart(name)
	}
	l.shared()
	l.account()
	for _, e := range f.Environments {
		l.environment(e)
	}
	slices.SortStableFunc(l.problems, func(a, b Problem) int {
		if a.At.Line != b.At.Line {
			return a.At.Line - b.At.Line
		}
		return a.At.Column - b.At.Column
	})
	return l.problems
}

type linter struct {
	*File
	root     fs.FS
	taken    namings
	problems []Problem
	objects  []manifest // of the repository, once they are needed
	read     bool
}

func (l *linter) problem(a address, format string, args ...any) {
	l.problems = append(l.problems, Problem{At: l.document.at(a), Text: fmt.Sprintf(format, args...)})
}

// chart compares the version of a chart with that of the HelmReleases in Git.
func (l *linter) chart(name string) {
	pin, ok := l.Charts[name]
	if !ok {
		l.problem(address{"charts"}, "charts.%s is missing: the step that installs it will fail", name)
		return
	}
	charts := map[string][]string{
		"flux-operator": {"flux-operator", "flux-instance"}, "cert-manager": {"cert-manager"}, "capi-operator": {"cluster-api-operator", "capi-operator"},
	}[name]
	for _, m := range l.manifests() {
		if m.kind != "HelmRelease" || !slices.Contains(charts, m.value("chart")) {
			continue
		}
		if version := m.value("version"); version != "" && version != pin {
			l.problem(address{"charts", name}, "charts.%s is %s, %s installs %s", name, pin, m.file, version)
		}
	}
}

func (l *linter) account() {
	at := address{"teardown"}
	if p := l.Teardown.S3BucketPattern; p != "" {
		for _, placeholder := range []string{"{account_id}", "{cluster_name}"} {
			if !strings.Contains(p, placeholder) {
				l.problem(at.child("s3-bucket-pattern"), "s3-bucket-pattern lacks %s", placeholder)
			}
		}
	}
	for _, m := range l.manifests() {
		if !strings.HasPrefix(m.version, "iam.services.k8s.aws/") {
			continue
		}
		name := m.value("name")
		switch {
		case name == "" || strings.Contains(name, "${"):
		case m.kind == "Role" && !slices.Contains(l.Teardown.GlobalIAMRoles, name):
			l.problem(at.child("global-iam-roles"), "global-iam-roles lacks %s of %s", name, m.file)
		case m.kind == "User" && !slices.Contains(l.Teardown.GlobalIAMUsers, name):
			l.problem(at.child("global-iam-users"), "global-iam-users lacks %s of %s", name, m.file)
		}
	}
}

func (l *linter) environment(e *Environment) {
	at := address{"environments", e.Name}
	if info, err := fs.Stat(l.root, clean(e.SyncPath)); err != nil || !info.IsDir() {
		l.problem(at.child("sync-path"), "sync-path %s is no directory of the repository", e.SyncPath)
	}
	l.files(at.child("provider-manifests"), e.ProviderManifests)
	l.files(at.child("pivot-manifests"), e.PivotManifests)
	l.files(at.child("pivot-sops-secrets"), e.PivotSopsSecrets)
	for i, m := range e.MoveFallbacks {
		l.files(at.child("move-fallbacks").child(index(i)).child("manifest"), []string{m.Manifest})
	}
	for _, name := range e.PivotSopsSecrets {
		if !strings.HasSuffix(name, ".sops.yaml") {
			l.problem(at.child("pivot-sops-secrets"), "%s does not end in .sops.yaml, as an encrypted file must", name)
		}
	}
	for _, name := range e.PivotManifests {
		if strings.HasSuffix(name, ".sops.yaml") {
			l.problem(at.child("pivot-manifests"), "%s is encrypted: it belongs to pivot-sops-secrets", name)
		}
	}
	l.vars(at.child("pivot-manifest-vars"), e)
	l.hook(at.child("post-kind-create-task"), e)
	l.teardown(at.child("teardown"), e)
	l.identities(at, e)
	l.swept(at.child("teardown"), e)
	if e.Archetype == AWS {
		if _, err := e.Region(); err != nil {
			l.problem(at.child("mgmt-cluster"), "%v: set mgmt-region", err)
		}
	}
}

// clean is a path of the configuration as a file system takes it.
func clean(name string) string { return path.Clean(name) }

func (l *linter) files(at address, names []string) {
	for _, name := range names {
		info, err := fs.Stat(l.root, clean(name))
		switch {
		case path.IsAbs(name) || !fs.ValidPath(clean(name)):
			l.problem(at, "%s is not below the root of the repository", name)
		case err != nil:
			l.problem(at, "%s does not exist in the repository", name)
		case info.IsDir():
			l.problem(at, "%s is a directory, not a file", name)
		}
	}
}

var upperSnake = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)

func (l *linter) vars(at address, e *Environment) {
	for _, name := range l.document.order[at.id()] {
		if !upperSnake.MatchString(name) {
			l.problem(at.child(name), "%s must be written in capitals and underscores", name)
		}
		used := slices.ContainsFunc(e.PivotManifests, func(file string) bool {
			text, err := fs.ReadFile(l.root, clean(file))
			return err == nil && strings.Contains(string(text), "${"+name)
		})
		if !used {
			l.problem(at.child(name), "no file of pivot-manifests uses ${%s}", name)
		}
	}
}

func (l *linter) hook(at address, e *Environment) {
	if e.PostKindCreateTask == "" {
		return
	}
	file := "mise." + e.Name + ".toml"
	text, err := fs.ReadFile(l.root, file)
	if err != nil {
		l.problem(at, "%s does not exist: task %s is looked for there", file, e.PostKindCreateTask)
		return
	}
	var tasks struct {
		Tasks map[string]any `toml:"tasks"`
	}
	if err := toml.Unmarshal(text, &tasks); err != nil {
		l.problem(at, "%s: %v", file, err)
		return
	}
	if _, ok := tasks.Tasks[e.PostKindCreateTask]; !ok {
		l.problem(at, "%s has no task %s", file, e.PostKindCreateTask)
	}
}

func (l *linter) teardown(at address, e *Environment) {
	for i, w := range e.Teardown.AWSWorkloads {
		one := at.child("aws-workloads").child(index(i))
		if !strings.HasPrefix(w.ClusterName, w.Region+"-") {
			l.problem(one.child("cluster-name"), "cluster-name %s does not begin with its region %s", w.ClusterName, w.Region)
		}
		if want := l.Bootstrap.MgmtNamespace + "_" + w.ClusterName + "-control-plane"; w.EKSClusterName != want {
			l.problem(one.child("eks-cluster-name"), "eks-cluster-name must be %s, it is %s", want, w.EKSClusterName)
		}
		if !strings.HasSuffix(w.RDSInstance, "-"+w.ClusterName+"-db") {
			l.problem(one.child("rds-instance"), "rds-instance must be <site>-%s-db, it is %s", w.ClusterName, w.RDSInstance)
		}
	}
	if t := e.Teardown; (t.MgmtEKSClusterName == "") != (t.MgmtIAMRolePrefix == "") {
		l.problem(at, "mgmt-eks-cluster-name and mgmt-iam-role-prefix go together: with one alone the management cluster is not swept")
	}
}

// A manifest is a Kubernetes object of the repository, as far as a lint needs it.
type manifest struct {
	file, version, kind string
	spec                string // the lines below spec:
}

var field = regexp.MustCompile(`(?m)^[ \t]+(chart|version|name):[ \t]*["']?([^"'\s#]+)["']?[ \t]*(?:#.*)?$`)

// value is the first value of a field below spec that is a plain text.
func (m manifest) value(name string) string {
	for _, found := range field.FindAllStringSubmatch(m.spec, -1) {
		if found[1] == name {
			return found[2]
		}
	}
	return ""
}

// manifests reads the objects of the repository, those of all its YAML files.
func (l *linter) manifests() []manifest {
	if l.read {
		return l.objects
	}
	l.read = true
	_ = fs.WalkDir(l.root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			// What cannot be read is no object of the repository.
			return nil //nolint:nilerr // see above
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && name != ".":
			return fs.SkipDir
		case entry.IsDir(), path.Ext(name) != ".yaml" && path.Ext(name) != ".yml":
			return nil
		}
		text, err := fs.ReadFile(l.root, name)
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		for object := range strings.SplitSeq("\n"+string(text), "\n---") {
			l.objects = append(l.objects, readManifest(name, object))
		}
		return nil
	})
	return l.objects
}

func readManifest(file, text string) manifest {
	m := manifest{file: file}
	section := ""
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if ok && name != "" && !strings.ContainsAny(name[:1], " \t#-") {
			section, value = name, strings.TrimSpace(value)
			switch name {
			case "apiVersion":
				m.version = value
			case "kind":
				m.kind = value
			}
			continue
		}
		if section == "spec" {
			m.spec += line
		}
	}
	return m
}
