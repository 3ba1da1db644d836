package inventory

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// packages lists what the package managers of the node installed.
func (n Node) packages(ctx context.Context) ([]api.Package, error) {
	list := []api.Package{}
	if data := n.read("/var/lib/dpkg/status"); data != "" {
		list = append(list, n.debs(data)...)
	}
	if data := n.read("/lib/apk/db/installed"); data != "" {
		list = append(list, parseAPK(data)...)
	}
	if _, err := os.Stat(n.path("/var/lib/rpm")); err == nil && n.find("rpm") != "" {
		rpms, err := n.rpms(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, rpms...)
	}
	slices.SortFunc(list, func(a, b api.Package) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version), strings.Compare(a.Arch, b.Arch))
	})
	return list, nil
}

func (n Node) debs(data string) []api.Package {
	list := parseDpkg(data)
	for i, p := range list {
		for _, name := range []string{p.Name, p.Name + ":" + p.Arch} {
			if info, err := os.Stat(n.path("/var/lib/dpkg/info/" + name + ".list")); err == nil {
				list[i].InstalledAt = info.ModTime().UTC().Truncate(time.Second)
			}
		}
	}
	return list
}

// parseDpkg reads the status file of dpkg.
func parseDpkg(data string) []api.Package {
	var list []api.Package
	stanzas(data, func(f map[string]string) {
		if f["Package"] != "" && !strings.Contains(f["Package"], "/") && strings.HasSuffix(f["Status"], " installed") {
			list = append(list, api.Package{Name: f["Package"], Version: f["Version"], Arch: f["Architecture"], Type: "deb"})
		}
	})
	return list
}

// parseAPK reads the database of apk, whose fields have one letter.
func parseAPK(data string) []api.Package {
	var list []api.Package
	stanzas(data, func(f map[string]string) {
		if f["P"] == "" {
			return
		}
		p := api.Package{Name: f["P"], Version: f["V"], Arch: f["A"], Type: "apk"}
		if at, err := strconv.ParseInt(f["t"], 10, 64); err == nil {
			p.InstalledAt = time.Unix(at, 0).UTC() // when it was built: apk keeps no other
		}
		list = append(list, p)
	})
	return list
}

const rpmFormat = `%{NAME}\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\t%{ARCH}\t%{INSTALLTIME}\t%{SIGPGP:pgpsig}\n`

func (n Node) rpms(ctx context.Context) ([]api.Package, error) {
	out, err := n.Host.Runner.Run(ctx, host.Cmd{
		Argv: []string{"rpm", "-qa", "--queryformat", rpmFormat}, Dir: "/", Env: []string{"PATH=" + launch.DefaultPath, "LC_ALL=C"},
	})
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	return parseRPM(string(out.Stdout)), nil
}

func parseRPM(data string) []api.Package {
	var list []api.Package
	for line := range strings.Lines(data) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 5 || f[0] == "" {
			continue
		}
		p := api.Package{Name: f[0], Version: strings.TrimPrefix(f[1], "0:"), Arch: f[2], Type: "rpm"}
		if at, err := strconv.ParseInt(f[3], 10, 64); err == nil {
			p.InstalledAt = time.Unix(at, 0).UTC()
		}
		if _, key, ok := strings.Cut(f[4], "Key ID "); ok {
			p.Sig = key
		}
		list = append(list, p)
	}
	return list
}
