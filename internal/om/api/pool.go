package api

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// PoolQuery selects pools.
type PoolQuery struct {
	Name string `query:"name" doc:"Only the pool of this name." example:"tank"`
	Node string `query:"node" doc:"Node selector; empty selects every node." example:"node1"`
}

// Pool is a place volumes are made in, on a node.
type Pool struct {
	Name         string    `json:"name" example:"tank"`
	Node         string    `json:"node" example:"node1"`
	Type         string    `json:"type" example:"directory"`
	Head         string    `json:"head" doc:"What the pool is made of."`
	Capabilities []string  `json:"capabilities"`
	Errors       []string  `json:"errors,omitempty"`
	Shared       bool      `json:"shared"`
	Free         int64     `json:"free" doc:"Bytes."`
	Used         int64     `json:"used" doc:"Bytes."`
	Size         int64     `json:"size" doc:"Bytes."`
	VolumeCount  int       `json:"volume_count"`
	UpdatedAt    time.Time `json:"updated_at"`
}

// PoolList is a list of [Pool].
type PoolList List[Pool]

// PoolVolumeQuery selects the volumes of pools.
type PoolVolumeQuery struct {
	Name string `query:"name" doc:"Only the volumes of the pool of this name." example:"tank"`
}

// PoolVolume is a volume of a pool.
type PoolVolume struct {
	Pool     string   `json:"pool" example:"tank"`
	Path     string   `json:"path" example:"ns1/vol/web1-vol-1"`
	Children []string `json:"children" doc:"Objects that use the volume."`
	IsOrphan bool     `json:"is_orphan" doc:"No object uses it."`
	Size     int64    `json:"size" doc:"Bytes."`
}

// PoolVolumeList is a list of [PoolVolume].
type PoolVolumeList List[PoolVolume]

// NetworkQuery selects networks.
type NetworkQuery struct {
	Name string `query:"name" doc:"Only the network of this name." example:"backend1"`
}

// Network gives addresses to objects.
type Network struct {
	Name    string   `json:"name" example:"backend1"`
	Type    string   `json:"type" example:"bridge"`
	Network string   `json:"network" example:"10.22.0.0/16"`
	Errors  []string `json:"errors,omitempty"`
	Free    string   `json:"free"`
	Used    string   `json:"used"`
	Size    string   `json:"size"`
}

// NetworkList is a list of [Network].
type NetworkList List[Network]

// NetworkIPNetwork is the network of an address.
type NetworkIPNetwork struct {
	Name    string `json:"name" example:"backend1"`
	Type    string `json:"type" example:"bridge"`
	Network string `json:"network" example:"10.22.0.0/16"`
}

// NetworkIP is an address that was given.
type NetworkIP struct {
	IP      string           `json:"ip" example:"10.22.0.2"`
	Node    string           `json:"node" example:"node1"`
	Path    string           `json:"path" example:"web1"`
	Rid     string           `json:"rid" example:"ip#1"`
	Network NetworkIPNetwork `json:"network"`
}

// NetworkIPList is a list of [NetworkIP].
type NetworkIPList List[NetworkIP]

// noDriver is said of what can be declared and not be used yet.
const noDriver = " The agent cannot use one yet: 501 when one is declared, naming it."

// GetPools lists pools.
var GetPools = Operation[PoolQuery, PoolList]{
	ID: "GetPools", Method: "GET", Path: "/api/pool", Tag: "pool", Need: rbac.NeedRoot, Errors: []int{404, 501},
	Doc:     "List the pools, on each node." + noDriver,
	Example: func() (PoolQuery, PoolList) { return PoolQuery{}, PoolList{Kind: "PoolList", Items: []Pool{}} },
}

// GetPoolVolumes lists the volumes of pools.
var GetPoolVolumes = Operation[PoolVolumeQuery, PoolVolumeList]{
	ID: "GetPoolVolumes", Method: "GET", Path: "/api/pool/volume", Tag: "pool", Need: rbac.NeedRoot, Errors: []int{404, 501},
	Doc: "List the volumes that pools hold." + noDriver,
	Example: func() (PoolVolumeQuery, PoolVolumeList) {
		return PoolVolumeQuery{}, PoolVolumeList{Kind: "PoolVolumeList", Items: []PoolVolume{}}
	},
}

// GetNetworks lists networks.
var GetNetworks = Operation[NetworkQuery, NetworkList]{
	ID: "GetNetworks", Method: "GET", Path: "/api/network", Tag: "network", Need: rbac.NeedRoot, Errors: []int{404, 501},
	Doc: "List the networks objects take addresses from." + noDriver,
	Example: func() (NetworkQuery, NetworkList) {
		return NetworkQuery{}, NetworkList{Kind: "NetworkList", Items: []Network{}}
	},
}

// GetNetworkIP lists the addresses that were given.
var GetNetworkIP = Operation[NetworkQuery, NetworkIPList]{
	ID: "GetNetworkIP", Method: "GET", Path: "/api/network/ip", Tag: "network", Need: rbac.NeedRoot, Errors: []int{404, 501},
	Doc: "List the addresses given to objects." + noDriver,
	Example: func() (NetworkQuery, NetworkIPList) {
		return NetworkQuery{}, NetworkIPList{Kind: "NetworkIPList", Items: []NetworkIP{}}
	},
}
