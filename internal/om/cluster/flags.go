package cluster

import "strconv"

// ResourceFlags draws the flags of a resource in eight places: running R,
// monitored M, disabled D, optional O, encapsulated E, provisioned (. true,
// P false, p mixed, / not applicable, ? unknown), standby S, and the configured
// restarts (a digit, + above nine). A dot is a flag that is not set.
func ResourceFlags(r ResourceStatus) string {
	b := []byte("........")
	for i, f := range []struct {
		set  bool
		mark byte
	}{{r.Running, 'R'}, {r.Monitor, 'M'}, {r.Disable, 'D'}, {r.Optional, 'O'}, {r.Encap, 'E'}} {
		if f.set {
			b[i] = f.mark
		}
	}
	switch r.Provisioned.State {
	case ProvisionedTrue:
	case ProvisionedFalse:
		b[5] = 'P'
	case ProvisionedMixed:
		b[5] = 'p'
	case ProvisionedNotApplicable:
		b[5] = '/'
	case ProvisionedUndef:
		b[5] = '?'
	}
	if r.Standby {
		b[6] = 'S'
	}
	switch {
	case r.Restart > 9:
		b[7] = '+'
	case r.Restart > 0:
		b[7] = strconv.Itoa(r.Restart)[0]
	}
	return string(b)
}
