package schema

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

// HeartbeatSettings are the keywords of a hb section. The fields of the other
// types are zero.
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
	Password string // relay: the sec object that holds it
	Insecure bool   // relay
}

// Keywords declares the keywords of every type of heartbeat.
func (s *HeartbeatSettings) Keywords(k *keyword.Table) {
	k.String(&s.Type, "type", "What the heartbeat travels on.").Required().OneOf("disk", "multicast", "relay", "unicast")
	k.Duration(&s.Interval, "interval", "How often a beat is sent.").Scopable().Default("5s")
	k.Duration(&s.Timeout, "timeout", "How long a silent peer is believed alive.").Scopable().Default("15s")
}

// KeywordsOf declares the keywords of a type of heartbeat, those of every type included.
func (s *HeartbeatSettings) KeywordsOf(typ string, k *keyword.Table) {
	s.Keywords(k)
	switch typ {
	case "unicast":
		s.unicast(k)
	case "multicast":
		s.multicast(k)
	case "disk":
		s.disk(k)
	case "relay":
		s.relay(k)
	}
}

func (s *HeartbeatSettings) unicast(k *keyword.Table) {
	k.String(&s.Addr, "addr", "The address a node listens on, and its peers send to.").Check(keyword.Host).Scopable().
		DefaultText("All addresses to listen, that of the node name to send.").Eg("192.0.2.1")
	k.String(&s.Intf, "intf", "The network interface the beats leave by.").Check(keyword.Interface).Scopable().DefaultText("The one the routes tell.").Eg("eth0")
	k.Int(&s.Port, "port", "The port a node listens on. That of its listener is shared with the API.").Between(1, maxPort).Scopable().DefaultText("The port of the listener.")
	k.List(&s.Nodes, "nodes", "The nodes that use this heartbeat.").Check(keyword.Each(keyword.Host)).Scopable().DefaultText("All the nodes of the cluster.")
}

func (s *HeartbeatSettings) multicast(k *keyword.Table) {
	k.String(&s.Addr, "addr", "The multicast address.").Check(keyword.Multicast).Scopable().Default("224.3.29.71")
	k.String(&s.Intf, "intf", "The network interface the beats leave by.").Check(keyword.Interface).Scopable().DefaultText("The one the routes tell.").Eg("eth0")
	k.Int(&s.Port, "port", "The port the nodes send to, and listen on.").Between(1, maxPort).Scopable().Default("10000")
}

func (s *HeartbeatSettings) disk(k *keyword.Table) {
	k.String(&s.Dev, "dev", "The shared device, signed beforehand. Its content is lost.").Check(keyword.File).Required().Scopable().Eg("/dev/mapper/hb1")
	k.Int(&s.MaxSlots, "max_slots", "The number of nodes the device has room for.").AtLeast(1).Default("1024")
}

func (s *HeartbeatSettings) relay(k *keyword.Table) {
	k.String(&s.Relay, "relay", "The address of the relay, a daemon of another site.").Check(keyword.Server).Required().Eg("relay.example.com:1215")
	k.String(&s.Username, "username", "The user of the relay.").Default("relay")
	k.String(&s.Password, "password", "The sec object whose key password holds that of the user.").Check(keyword.Secret).Default("system/sec/relay")
	k.Bool(&s.Insecure, "insecure", "Do not verify the certificate of the relay.").Default("false")
}

func heartbeat() keyword.Section {
	of := func(declare func(*HeartbeatSettings, *keyword.Table)) func() *keyword.Table {
		return table(func(k *keyword.Table) { declare(&HeartbeatSettings{}, k) })
	}
	return keyword.Section{
		Name: "hb", Indexed: true, Doc: "A way for the nodes to hear of each other.",
		Types: map[string]func() *keyword.Table{
			"":          of((*HeartbeatSettings).Keywords),
			"unicast":   of((*HeartbeatSettings).unicast),
			"multicast": of((*HeartbeatSettings).multicast),
			"disk":      of((*HeartbeatSettings).disk),
			"relay":     of((*HeartbeatSettings).relay),
		},
	}
}
