package inventory

import "github.com/holdfast-ops/holdfast/internal/om/api"

func items[T, Item any](list []T, item func(T) Item) []Item {
	all := make([]Item, len(list))
	for i, v := range list {
		all[i] = item(v)
	}
	return all
}

// PropertyItems are the properties of an inventory, as the API gives them.
func PropertyItems(a Asset) []api.PropertyItem {
	return items(a.Properties, func(p api.Property) api.PropertyItem {
		return api.PropertyItem{Kind: "PropertyItem", Meta: api.NodeMeta{Node: a.Node}, Data: p}
	})
}

// HardwareItems are its devices.
func HardwareItems(a Asset) []api.HardwareItem {
	return items(a.Hardware, func(h api.Hardware) api.HardwareItem {
		return api.HardwareItem{Kind: "HardwareItem", Meta: api.NodeMeta{Node: a.Node}, Data: h}
	})
}

// UserItems are its accounts.
func UserItems(a Asset) []api.UserItem {
	return items(a.Users, func(u api.User) api.UserItem {
		return api.UserItem{Kind: "UserItem", Meta: api.NodeMeta{Node: a.Node}, Data: u}
	})
}

// GroupItems are its groups of accounts.
func GroupItems(a Asset) []api.GroupItem {
	return items(a.Groups, func(g api.Group) api.GroupItem {
		return api.GroupItem{Kind: "GroupItem", Meta: api.NodeMeta{Node: a.Node}, Data: g}
	})
}

// AddressItems are its addresses.
func AddressItems(a Asset) []api.IPAddressItem {
	return items(a.Addresses, func(i api.IPAddress) api.IPAddressItem {
		return api.IPAddressItem{Kind: "IPAddressItem", Meta: api.NodeMeta{Node: a.Node}, Data: i}
	})
}

// InitiatorItems are its ports on storage networks.
func InitiatorItems(a Asset) []api.SANPathInitiatorItem {
	return items(a.Initiators, func(i api.SANPathInitiator) api.SANPathInitiatorItem {
		return api.SANPathInitiatorItem{Kind: "SANPathInitiatorItem", Meta: api.NodeMeta{Node: a.Node}, Data: i}
	})
}

// DiskItems are the disks of a node, as the API gives them.
func DiskItems(d Disks) []api.DiskItem {
	return items(d.Disks, func(disk api.Disk) api.DiskItem {
		return api.DiskItem{Kind: "DiskItem", Meta: api.NodeMeta{Node: d.Node}, Data: disk}
	})
}

// PackageItems are the packages of a node, as the API gives them.
func PackageItems(p Packages) []api.PackageItem {
	return items(p.Packages, func(one api.Package) api.PackageItem {
		return api.PackageItem{Kind: "PackageItem", Meta: api.NodeMeta{Node: p.Node}, Data: one}
	})
}

// CapabilityItems are what a node can do, as the API gives it.
func CapabilityItems(node string, names []string) []api.CapabilityItem {
	return items(names, func(name string) api.CapabilityItem {
		return api.CapabilityItem{Kind: "CapabilityItem", Meta: api.NodeMeta{Node: node}, Data: api.Capability{Name: name}}
	})
}
