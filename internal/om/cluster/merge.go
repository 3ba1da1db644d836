package cluster

// Merge combines the statuses of two resources. It is commutative; Undef and
// NotApplicable are neutral, two NotApplicable giving NotApplicable. The result
// may be one of the two internal statuses: merge all, then take [Status.Plain].
// Source: table of spec 8.2.
func Merge(a, b Status) Status { panic("to write") }

// MergeProvisioned combines provisioned states: Undef and NotApplicable are
// neutral, different states are mixed.
func MergeProvisioned(a, b Provisioned) Provisioned { panic("to write") }
