package httpd

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/inventory"
)

// Inventory knows what this node is made of; inventory.Node does.
type Inventory interface {
	LastAsset() (inventory.Asset, error)
	LastDisks() (inventory.Disks, error)
	LastPackages(ctx context.Context) (inventory.Packages, error)
	LastChecks() (inventory.Checks, error)
	Capabilities() ([]string, error)
}

// system serves the inventory of this node.
func (s *Server) system() {
	handle(s, api.GetNodeCapabilities, s.getNodeCapabilities)
	handle(s, api.GetNodeSystemDisk, s.getNodeSystemDisk)
	handle(s, api.GetNodeSystemPackage, s.getNodeSystemPackage)
	handle(s, api.GetNodeSystemGroup, asset(s, func(a inventory.Asset) api.GroupList {
		return api.GroupList{Kind: "GroupList", Items: inventory.GroupItems(a)}
	}))
	handle(s, api.GetNodeSystemHardware, asset(s, func(a inventory.Asset) api.HardwareList {
		return api.HardwareList{Kind: "HardwareList", Items: inventory.HardwareItems(a)}
	}))
	handle(s, api.GetNodeSystemIPAddress, asset(s, func(a inventory.Asset) api.IPAddressList {
		return api.IPAddressList{Kind: "IDAddressList", Items: inventory.AddressItems(a)}
	}))
	handle(s, api.GetNodeSystemProperty, asset(s, func(a inventory.Asset) api.PropertyList {
		return api.PropertyList{Kind: "PropertyList", Items: inventory.PropertyItems(a)}
	}))
	handle(s, api.GetNodeSystemSANInitiator, asset(s, func(a inventory.Asset) api.SANPathInitiatorList {
		return api.SANPathInitiatorList{Kind: "SANPathInitiatorList", Items: inventory.InitiatorItems(a)}
	}))
	handle(s, api.GetNodeSystemSANPath, asset(s, func(a inventory.Asset) api.SANPathList {
		return api.SANPathList{Kind: "SANPathList", Items: a.Paths}
	}))
	handle(s, api.GetNodeSystemUser, asset(s, func(a inventory.Asset) api.UserList {
		return api.UserList{Kind: "UserList", Items: inventory.UserItems(a)}
	}))
	handle(s, api.GetNodeSystemCheck, func(context.Context, *api.NodeName) (api.CheckList, error) {
		c, err := s.o.Inventory.LastChecks()
		return api.CheckList{Kind: "CheckList", Items: inventory.CheckItems(c)}, err
	})
	s.nodeReport(api.PostNodeActionPushAsset, "push asset")
	s.nodeReport(api.PostNodeActionPushDisk, "push disk")
	s.nodeReport(api.PostNodeActionPushPkg, "push pkg")
	s.nodeReport(api.PostNodeActionScanCapabilities, "capabilities scan")
	s.nodeReport(api.PostNodeActionChecks, "checks")
	handle(s, api.PostNodeActionSysreport, func(ctx context.Context, in *api.NodeSysreport) (api.NodeActionAccepted, error) {
		command := []string{"sysreport"}
		if in.Force {
			command = append(command, "--force")
		}
		return s.runOnNode(ctx, in.SessionID, command)
	})
}

func asset[List any](s *Server, list func(inventory.Asset) List) func(context.Context, *api.NodeName) (List, error) {
	return func(context.Context, *api.NodeName) (List, error) {
		a, err := s.o.Inventory.LastAsset()
		return list(a), err
	}
}

func (s *Server) getNodeCapabilities(context.Context, *api.NodeName) (api.CapabilityList, error) {
	names, err := s.o.Inventory.Capabilities()
	return api.CapabilityList{Kind: "CapabilityList", Items: inventory.CapabilityItems(s.o.Node, names)}, err
}

func (s *Server) getNodeSystemDisk(context.Context, *api.NodeName) (api.DiskList, error) {
	d, err := s.o.Inventory.LastDisks()
	return api.DiskList{Kind: "DiskList", Items: inventory.DiskItems(d)}, err
}

func (s *Server) getNodeSystemPackage(ctx context.Context, _ *api.NodeName) (api.PackageList, error) {
	p, err := s.o.Inventory.LastPackages(ctx)
	return api.PackageList{Kind: "PackageList", Items: inventory.PackageItems(p)}, err
}

func (s *Server) nodeReport(op api.Operation[api.NodeAction, api.NodeActionAccepted], command string) {
	handle(s, op, func(ctx context.Context, in *api.NodeAction) (api.NodeActionAccepted, error) {
		return s.runOnNode(ctx, in.SessionID, strings.Fields(command))
	})
}

// runOnNode submits a command of this node, which makes a report.
func (s *Server) runOnNode(ctx context.Context, session string, command []string) (api.NodeActionAccepted, error) {
	if session != "" {
		if _, err := uuid.Parse(session); err != nil {
			return api.NodeActionAccepted{}, badRequest(errors.New("query.session_id: " + session + " is no uuid"))
		}
	}
	ids, err := s.o.Executor.Submit(context.WithoutCancel(ctx), executor.Job{
		Args: append([]string{"node"}, command...), SessionID: session, Origin: executor.OriginAPI,
	})
	return api.NodeActionAccepted{SessionID: ids.SessionID, ExecID: ids.ExecID}, err
}
