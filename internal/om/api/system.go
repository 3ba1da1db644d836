package api

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Capability is something a node can do.
type Capability struct {
	Name string `json:"name" example:"node.x.lvm2"`
}

// CapabilityItem is a capability of a node.
type CapabilityItem Item[NodeMeta, Capability]

// CapabilityList is a list of [CapabilityItem].
type CapabilityList List[CapabilityItem]

// Region is a part of a disk that somebody uses.
type Region struct {
	ID      string `json:"id" example:"vda1"`
	Devpath string `json:"devpath" example:"/dev/vda1"`
	Object  string `json:"object" doc:"Object that uses it, empty when none does."`
	Size    uint64 `json:"size" doc:"In megabytes." example:"1024"`
	Group   string `json:"group" doc:"Volume group or array it is part of."`
}

// Disk is a disk of a node.
type Disk struct {
	ID      string   `json:"id" doc:"World wide name when it has one, else the name of the node and of the device." example:"node1.vda"`
	Devpath string   `json:"devpath" example:"/dev/vda"`
	Size    uint64   `json:"size" doc:"In megabytes." example:"20480"`
	Vendor  string   `json:"vendor" example:"ATA"`
	Model   string   `json:"model" example:"QEMU HARDDISK"`
	Type    string   `json:"type" doc:"Kind of device: disk, loop, md, dm..." example:"disk"`
	Regions []Region `json:"regions"`
}

// DiskItem is a disk of a node.
type DiskItem Item[NodeMeta, Disk]

// DiskList is a list of [DiskItem].
type DiskList List[DiskItem]

// Group is a group of accounts.
type Group struct {
	ID   int    `json:"id" example:"100"`
	Name string `json:"name" example:"users"`
}

// GroupItem is a group of accounts of a node.
type GroupItem Item[NodeMeta, Group]

// GroupList is a list of [GroupItem].
type GroupList List[GroupItem]

// Hardware is a device on a bus.
type Hardware struct {
	Path        string `json:"path" doc:"Address on the bus." example:"0000:00:03.0"`
	Description string `json:"description" example:"8086:100e"`
	Class       string `json:"class" example:"network"`
	Driver      string `json:"driver" example:"e1000"`
	Type        string `json:"type" doc:"The bus." example:"pci"`
}

// HardwareItem is a device of a node.
type HardwareItem Item[NodeMeta, Hardware]

// HardwareList is a list of [HardwareItem].
type HardwareList List[HardwareItem]

// IPAddress is an address of an interface.
type IPAddress struct {
	Mac            string `json:"mac" example:"52:54:00:12:34:56"`
	Address        string `json:"address" example:"192.0.2.10"`
	FlagDeprecated bool   `json:"flagdeprecated"`
	Intf           string `json:"intf" example:"eth0"`
	Mask           string `json:"mask" doc:"Length of the prefix." example:"24"`
	Type           string `json:"type" example:"ipv4"`
}

// IPAddressItem is an address of a node.
type IPAddressItem Item[NodeMeta, IPAddress]

// IPAddressList is a list of [IPAddressItem].
type IPAddressList struct {
	Kind  string          `json:"kind" enum:"IDAddressList"`
	Items []IPAddressItem `json:"items"`
}

// Package is an installed package.
type Package struct {
	Name        string    `json:"name" example:"coreutils"`
	Version     string    `json:"version" example:"9.1-1"`
	Arch        string    `json:"arch" example:"amd64"`
	Type        string    `json:"type" example:"deb"`
	InstalledAt time.Time `json:"installedat"`
	Sig         string    `json:"sig" doc:"Key that signed it, when the package manager tells."`
}

// PackageItem is a package of a node.
type PackageItem Item[NodeMeta, Package]

// PackageList is a list of [PackageItem].
type PackageList List[PackageItem]

// Property is a fact of the inventory of a node.
type Property struct {
	Error  string `json:"error" doc:"Why the value is not known."`
	Name   string `json:"name" example:"os_kernel"`
	Source string `json:"source" doc:"Where the value comes from: probe, config or default." example:"probe"`
	Title  string `json:"title" example:"os kernel"`
	Value  any    `json:"value"`
}

// PropertyItem is a property of a node.
type PropertyItem struct {
	Kind string   `json:"kind" example:"PropertyItem"`
	Meta NodeMeta `json:"meta"`
	Data Property `json:"data"`
}

// PropertyList is a list of [PropertyItem].
type PropertyList List[PropertyItem]

// SANPathInitiator is a port of the node on a storage network.
type SANPathInitiator struct {
	Name string `json:"name" example:"iqn.2009-11.com.example:node1"`
	Type string `json:"type" example:"iscsi"`
}

// SANPathInitiatorItem is such a port of a node.
type SANPathInitiatorItem Item[NodeMeta, SANPathInitiator]

// SANPathInitiatorList is a list of [SANPathInitiatorItem].
type SANPathInitiatorList List[SANPathInitiatorItem]

// SANPathTarget is a port of a storage array.
type SANPathTarget struct {
	Name string `json:"name" example:"50060e8005d61a00"`
	Type string `json:"type" example:"fc"`
}

// SANPath is a way from a port of the node to a port of an array.
type SANPath struct {
	Initiator SANPathInitiator `json:"initiator"`
	Target    SANPathTarget    `json:"target"`
}

// SANPathList is a list of [SANPath].
type SANPathList List[SANPath]

// User is an account of a node.
type User struct {
	ID   int    `json:"id" example:"1000"`
	Name string `json:"name" example:"alice"`
}

// UserItem is an account of a node.
type UserItem Item[NodeMeta, User]

// UserList is a list of [UserItem].
type UserList List[UserItem]

// NodeSysreport is a report of the configuration of a node.
type NodeSysreport struct {
	NodeName
	Force     bool   `query:"force" doc:"Report every tracked file, not only what changed."`
	SessionID string `query:"session_id" doc:"Session the run belongs to; one is made when absent."`
}

// GetNodeCapabilities lists what a node can do.
var GetNodeCapabilities = Operation[NodeName, CapabilityList]{
	ID: "GetNodeCapabilities", Method: "GET", Path: nodePath + "/capabilities", Tag: "node", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "List the drivers and the tools found on the node by the last scan.",
	Example: func() (NodeName, CapabilityList) {
		return exampleNode(), CapabilityList{Kind: "CapabilityList", Items: []CapabilityItem{
			{Kind: "CapabilityItem", Meta: NodeMeta{Node: "node1"}, Data: Capability{Name: "drivers.resource.fs.directory"}},
		}}
	},
}

// The parts of the inventory.
var (
	GetNodeSystemDisk = system("Disk", "disk", "the disks", DiskList{Kind: "DiskList", Items: []DiskItem{{
		Kind: "DiskItem", Meta: NodeMeta{Node: "node1"},
		Data: Disk{ID: "node1.vda", Devpath: "/dev/vda", Size: 20480, Type: "disk", Regions: []Region{}},
	}}})
	GetNodeSystemGroup = system("Group", "group", "the groups of accounts", GroupList{Kind: "GroupList", Items: []GroupItem{
		{Kind: "GroupItem", Meta: NodeMeta{Node: "node1"}, Data: Group{ID: 100, Name: "users"}},
	}})
	GetNodeSystemHardware = system("Hardware", "hardware", "the devices", HardwareList{Kind: "HardwareList", Items: []HardwareItem{
		{Kind: "HardwareItem", Meta: NodeMeta{Node: "node1"}, Data: Hardware{Path: "0000:00:03.0", Type: "pci", Class: "network"}},
	}})
	GetNodeSystemIPAddress = system("IPAddress", "ipaddress", "the addresses", IPAddressList{Kind: "IDAddressList", Items: []IPAddressItem{
		{Kind: "IPAddressItem", Meta: NodeMeta{Node: "node1"}, Data: IPAddress{Address: "192.0.2.10", Intf: "eth0", Mask: "24", Type: "ipv4"}},
	}})
	GetNodeSystemPackage = system("Package", "package", "the packages", PackageList{Kind: "PackageList", Items: []PackageItem{
		{Kind: "PackageItem", Meta: NodeMeta{Node: "node1"}, Data: Package{Name: "coreutils", Version: "9.1-1", Arch: "amd64", Type: "deb"}},
	}})
	GetNodeSystemProperty = system("Property", "property", "the properties", PropertyList{Kind: "PropertyList", Items: []PropertyItem{
		{Kind: "PropertyItem", Meta: NodeMeta{Node: "node1"}, Data: Property{Name: "os_kernel", Source: "probe", Title: "os kernel", Value: "6.1.0"}},
	}})
	GetNodeSystemSANInitiator = system("SANInitiator", "san/initiator", "the ports on storage networks", SANPathInitiatorList{
		Kind: "SANPathInitiatorList", Items: []SANPathInitiatorItem{{
			Kind: "SANPathInitiatorItem", Meta: NodeMeta{Node: "node1"}, Data: SANPathInitiator{Name: "iqn.2009-11.com.example:node1", Type: "iscsi"},
		}},
	})
	GetNodeSystemSANPath = system("SANPath", "san/path", "the ways to storage arrays", SANPathList{Kind: "SANPathList", Items: []SANPath{
		{Initiator: SANPathInitiator{Name: "21000024ff000000", Type: "fc"}, Target: SANPathTarget{Name: "50060e8005d61a00", Type: "fc"}},
	}})
	GetNodeSystemUser = system("User", "user", "the accounts", UserList{Kind: "UserList", Items: []UserItem{
		{Kind: "UserItem", Meta: NodeMeta{Node: "node1"}, Data: User{ID: 1000, Name: "alice"}},
	}})
)

func system[List any](id, path, what string, example List) Operation[NodeName, List] {
	return Operation[NodeName, List]{
		ID: "GetNodeSystem" + id, Method: "GET", Path: nodePath + "/system/" + path, Tag: "node system", Need: rbac.NeedRoot, Errors: []int{404},
		Doc:     "List " + what + " of the node, from its last inventory. Without one, it is made.",
		Example: func() (NodeName, List) { return exampleNode(), example },
	}
}

// The inventories and reports of a node, made by a run.
var (
	PostNodeActionPushAsset        = report("PushAsset", "push/asset", "Make the inventory of the node again.")
	PostNodeActionPushDisk         = report("PushDisk", "push/disk", "Make the inventory of the disks of the node again.")
	PostNodeActionPushPkg          = report("PushPkg", "push/pkg", "Make the inventory of the packages of the node again.")
	PostNodeActionScanCapabilities = report("ScanCapabilities", "scan/capabilities", "Look again for what the node can do.")
)

func report(id, path, doc string) Operation[NodeAction, NodeActionAccepted] {
	o := nodeAction(id, path, doc)
	o.ID = "PostNodeAction" + id
	return o
}

// PostNodeActionSysreport reports the configuration of a node.
var PostNodeActionSysreport = Operation[NodeSysreport, NodeActionAccepted]{
	ID: "PostNodeActionSysreport", Method: "POST", Path: nodePath + "/action/sysreport", Tag: "node", Need: rbac.NeedRoot, Errors: []int{404, 503},
	Doc: "Report what changed in the configuration files of the node and in the output of the tracked commands. Answers at once with the session and the run.",
	Example: func() (NodeSysreport, NodeActionAccepted) {
		return NodeSysreport{NodeName: exampleNode(), Force: true}, NodeActionAccepted{SessionID: exampleSession, ExecID: exampleExec}
	},
}
