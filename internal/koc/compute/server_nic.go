package compute

import (
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// nic is a connection of a new server. Either network and port say where to, or
// the service decides.
type nic struct {
	automatic     string // auto or none
	network, port string
	ip, tag       string
}

// readNICs reads --network, --port and --nic in the order of the command line.
func (o *serverOrder) readNICs() ([]nic, error) {
	var nics []nic
	for _, p := range o.c.Sequence("network", "port", "nic", "no-network", "auto-network") {
		n, err := readNIC(p.Key, p.Value)
		if err != nil {
			return nil, err
		}
		if n == (nic{}) {
			continue
		}
		if n.tag != "" {
			if err := o.needs("2.43", "the tag of --nic"); err != nil {
				return nil, err
			}
		}
		nics = append(nics, n)
	}
	for _, n := range nics {
		if n.automatic != "" && len(nics) > 1 {
			return nil, command.Reject("--nic %s cannot be used with any other --nic, --network or --port", n.automatic)
		}
	}
	return nics, nil
}

func readNIC(flag, text string) (nic, error) {
	switch {
	case flag == "no-network" || flag == "auto-network":
		if text != "true" {
			return nic{}, nil
		}
		return nic{automatic: map[string]string{"no-network": "none", "auto-network": "auto"}[flag]}, nil
	case text == "auto" || text == "none":
		return nic{automatic: text}, nil
	case text == "" || flag != "nic" && strings.ContainsAny(text, ",="):
		return nic{}, command.Reject("--%s %q: a name or id is neither empty nor has it commas or equals signs", flag, text)
	case flag == "port":
		return nic{port: text}, nil
	case flag == "network" || !strings.Contains(text, "="):
		return nic{network: text}, nil
	}
	var n nic
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		if value == "" {
			return nic{}, badNIC(text, "%q has no value", part)
		}
		switch key {
		case "net-id", "net-name", "network", "uuid":
			n.network = value
		case "port-id", "port":
			n.port = value
		case "v4-fixed-ip", "v6-fixed-ip", "fixed-ip":
			if n.ip != "" {
				return nic{}, badNIC(text, "only one of v4-fixed-ip and v6-fixed-ip may be given")
			}
			n.ip = value
		case "tag":
			n.tag = value
		default:
			return nic{}, badNIC(text, "%q is not known", key)
		}
	}
	if (n.network == "") == (n.port == "") {
		return nic{}, badNIC(text, "give a network or a port, and not both")
	}
	return n, nil
}

func badNIC(text, format string, a ...any) error {
	a = append([]any{text}, a...)
	return command.Reject("--nic %q: "+format+"; the keys are net-id, port-id, v4-fixed-ip, v6-fixed-ip and tag", a...)
}

// networks are the connections as the service takes them. From 2.37 on it wants
// to be told that it may choose; nil is to say nothing.
func (o *serverOrder) networks() any {
	switch {
	case len(o.nics) == 1 && o.nics[0].automatic != "":
		return o.nics[0].automatic
	case len(o.nics) == 0 && o.atLeast("2.37"):
		return "auto"
	case len(o.nics) == 0:
		return nil
	}
	list := make([]any, len(o.nics))
	for i, n := range o.nics {
		var body noun.Object
		for _, f := range [...]render.Field{{Name: "uuid", Value: n.network}, {Name: "fixed_ip", Value: n.ip}, {Name: "port", Value: n.port}, {Name: "tag", Value: n.tag}} {
			if f.Value != "" {
				body.Set(f.Name, f.Value)
			}
		}
		list[i] = render.Ordered(body)
	}
	return list
}
