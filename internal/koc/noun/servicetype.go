package noun

import "strings"

// ServiceType is the official type of a service that a catalogue may list under
// an older one: "volumev3" is "block-storage".
func ServiceType(typ string) string {
	t := strings.ReplaceAll(strings.ToLower(typ), "_", "-")
	switch t {
	case "volume", "volumev2", "volumev3", "block-store":
		return "block-storage"
	case "octavia":
		return "load-balancer"
	case "metric-storage":
		return "metric"
	default:
		return t
	}
}
