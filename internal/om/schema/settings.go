package schema

import "time"

// ObjectSettings are the keywords of the DEFAULT section which the agent reads,
// evaluated on one node.
type ObjectSettings struct {
	ID      string
	App     string
	Env     string
	Comment string

	Nodes      []string
	DRPNodes   []string
	EncapNodes []string

	Topology    string
	Orchestrate string
	Placement   string
	Priority    int
	FlexMin     int
	FlexMax     int
	FlexTarget  int
	FlexPrimary []string

	MonitorAction    []string
	PreMonitorAction string
	Rollback         bool
	Stonith          bool
	Disable          bool
	Shared           bool
	CreatePG         bool

	Parents          []string
	Children         []string
	HardAffinity     []string
	HardAntiAffinity []string
	SoftAffinity     []string
	SoftAntiAffinity []string

	// The timeouts of whole actions; zero is none.
	Timeout            time.Duration
	StartTimeout       time.Duration
	StopTimeout        time.Duration
	StatusTimeout      time.Duration
	ProvisionTimeout   time.Duration
	UnprovisionTimeout time.Duration
	SyncTimeout        time.Duration
	WaitSyncsTimeout   time.Duration

	StatusSchedule  string
	MonitorSchedule string
	InfoSchedule    string
	RunSchedule     string
	SyncSchedule    string
	CompSchedule    string

	// Of volumes.
	Pool        string
	Access      string
	Size        int64
	DevicesFrom []string

	// Of datastores.
	Share     []string
	AltNames  []string
	CN        string
	CA        string
	C         string
	ST        string
	L         string
	O         string
	OU        string
	Email     string
	Bits      int64
	Validity  time.Duration
	Grant     []string
	UnixUser  string
	ACME      ACMESettings
	Ownership RootlessSettings
}

// ACMESettings tell how the certificate of a sec is issued and renewed.
type ACMESettings struct {
	Directory   string
	Webroot     string
	RenewBefore time.Duration
}

// RootlessSettings are the accounts the containers of a namespace may run as.
type RootlessSettings struct {
	Users  []string
	Groups []string
}

// SubsetSettings are the keywords of a subset section.
type SubsetSettings struct {
	Parallel bool
}

// NodeSettings are the keywords of the node section which the agent reads.
type NodeSettings struct {
	Env                    string
	MaintenanceGracePeriod time.Duration
	MaxKeySize             int64
	MaxParallel            int
	MinAvailMemPct         int
	MinAvailSwapPct        int
	PRKey                  string
	ReadyPeriod            time.Duration
	RejoinGracePeriod      time.Duration
	SecureFetch            bool
	SplitAction            string
	SSHKey                 string
}

// ClusterSettings are the keywords of the cluster section.
type ClusterSettings struct {
	ID       string
	Name     string
	Secret   Secret
	Nodes    []string
	DRPNodes []string
	DNS      []string
	Envs     []string
	CA       []string
	Cert     string
	CRL      string
	Quorum   bool
}

// ListenerSettings are the keywords of the listener section.
type ListenerSettings struct {
	Addr               string
	Port               int
	CRL                string
	DNSSockUID         string
	DNSSockGID         string
	OpenIDIssuer       string
	OpenIDClientID     string
	RateLimiterRate    int
	RateLimiterBurst   int
	RateLimiterExpires time.Duration
	UXOwnerGroup       string
	TLSSecs            []string
	ACMEPort           int
}

// HeartbeatSettings are the keywords of a hb section.
type HeartbeatSettings struct {
	Name     string // "hb#1"
	Type     string
	Interval time.Duration
	Timeout  time.Duration

	Addr  string   // unicast, multicast
	Intf  string   // unicast, multicast
	Port  int      // unicast, multicast
	Nodes []string // unicast

	Dev      string // disk
	MaxSlots int    // disk

	Relay    string // relay
	Username string // relay
	Password string // relay: the sec object holding it
	Insecure bool   // relay
}

// Secret is a text that never prints; the zero Secret is empty.
type Secret struct{ text string }

// Reveal returns the text.
func (s Secret) Reveal() string { return s.text }

// String hides the text.
func (s Secret) String() string { return "***" }

// GoString hides the text.
func (s Secret) GoString() string { return "***" }

// MarshalJSON hides the text.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }
