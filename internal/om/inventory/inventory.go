// Package inventory says what a node is made of: its properties, devices, disks,
// packages, accounts and addresses, what it can do, how healthy it is, and what
// changed in its configuration. It reads the files of the kernel and of the
// packages; the little that only a command tells is asked through the runner.
//
// What is found is kept in reports below the state directory, for the API and
// for whoever wants the last one.
package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Node is the node to look at.
type Node struct {
	Host  host.Host
	Store *store.Store
	// Root is where the files of the system are; empty is "/". Tests have their own.
	Root    string
	Version string   // of the agent
	Drivers []string // ids of the resource drivers
}

// Asset is the inventory of a node.
type Asset struct {
	Node       string                 `json:"node"`
	At         time.Time              `json:"at"`
	Properties []api.Property         `json:"properties"`
	Hardware   []api.Hardware         `json:"hardware"`
	Users      []api.User             `json:"users"`
	Groups     []api.Group            `json:"groups"`
	Addresses  []api.IPAddress        `json:"ip_addresses"`
	Initiators []api.SANPathInitiator `json:"san_initiators"`
	Paths      []api.SANPath          `json:"san_paths"`
}

// Disks is the inventory of the disks of a node.
type Disks struct {
	Node  string     `json:"node"`
	At    time.Time  `json:"at"`
	Disks []api.Disk `json:"disks"`
}

// Packages is the inventory of the packages of a node.
type Packages struct {
	Node     string        `json:"node"`
	At       time.Time     `json:"at"`
	Packages []api.Package `json:"packages"`
}

// Asset looks at the node.
func (n Node) Asset() (Asset, error) {
	properties, err := n.properties()
	if err != nil {
		return Asset{}, err
	}
	initiators, paths := n.san()
	addresses, err := addresses()
	if err != nil {
		return Asset{}, fmt.Errorf("addresses of the node: %w", err)
	}
	return Asset{
		Node: n.Host.Hostname, At: time.Now(), Properties: properties, Hardware: n.hardware(),
		Users: n.users(), Groups: n.groups(), Addresses: addresses, Initiators: initiators, Paths: paths,
	}, nil
}

// Disks looks at the disks.
func (n Node) Disks() Disks {
	return Disks{Node: n.Host.Hostname, At: time.Now(), Disks: n.disks()}
}

// Packages lists the packages.
func (n Node) Packages(ctx context.Context) (Packages, error) {
	list, err := n.packages(ctx)
	return Packages{Node: n.Host.Hostname, At: time.Now(), Packages: list}, err
}

// The reports.
const (
	ReportAsset    = "asset"
	ReportDisk     = "disk"
	ReportPkg      = "pkg"
	ReportChecks   = "checks"
	reportTracked  = "sysreport"
	capabilityFile = "capabilities-v3.json"
)

func (n Node) reportFile(name string) string {
	return filepath.Join(n.Host.Paths.Var(), "node", name+".json")
}

// Keep makes a report the last one.
func (n Node) Keep(name string, report any) error { return keep(n.reportFile(name), report) }

func keep(file string, report any) error {
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(file, append(data, '\n'), 0o600)
}

// last reads the last report of a kind; false when there is none.
func (n Node) last(name string, report any) (bool, error) { return load(n.reportFile(name), report) }

func load(file string, report any) (bool, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, report); err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	return true, nil
}

// LastAsset is the last inventory, made when there is none.
func (n Node) LastAsset() (a Asset, err error) {
	if there, err := n.last(ReportAsset, &a); there || err != nil {
		return a, err
	}
	if a, err = n.Asset(); err == nil {
		err = n.Keep(ReportAsset, a)
	}
	return a, err
}

// LastDisks is the last inventory of the disks, made when there is none.
func (n Node) LastDisks() (d Disks, err error) {
	if there, err := n.last(ReportDisk, &d); there || err != nil {
		return d, err
	}
	d = n.Disks()
	return d, n.Keep(ReportDisk, d)
}

// LastPackages is the last inventory of the packages, made when there is none.
func (n Node) LastPackages(ctx context.Context) (p Packages, err error) {
	if there, err := n.last(ReportPkg, &p); there || err != nil {
		return p, err
	}
	if p, err = n.Packages(ctx); err == nil {
		err = n.Keep(ReportPkg, p)
	}
	return p, err
}

// path is a file of the system.
func (n Node) path(name string) string {
	if n.Root == "" {
		return name
	}
	return filepath.Join(n.Root, name)
}

// read returns the content of a file of the kernel, trimmed; empty when it has none.
func (n Node) read(name string) string {
	data, err := os.ReadFile(n.path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// list returns the entries of a directory of the kernel.
func (n Node) list(name string) []string {
	entries, err := os.ReadDir(n.path(name))
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// link returns the last element of what a link leads to.
func (n Node) link(name string) string {
	to, err := os.Readlink(n.path(name))
	if err != nil {
		return ""
	}
	return filepath.Base(to)
}
