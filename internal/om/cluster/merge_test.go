package cluster_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

type merge func(a, b cluster.Status) cluster.Status

const (
	undef = cluster.Undef
	na    = cluster.NotApplicable
	up    = cluster.Up
	down  = cluster.Down
	warn  = cluster.Warn
	sup   = cluster.StandbyUp
	sdown = cluster.StandbyDown
	sPup  = cluster.StandbyUpWithUp
	sPdn  = cluster.StandbyUpWithDown
)

func statuses() []cluster.Status {
	return []cluster.Status{undef, na, up, down, warn, sup, sdown, sPup, sPdn}
}

func TestMergeTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, want cluster.Status }{
		{up, up, up},
		{up, down, warn},
		{up, warn, warn},
		{up, sup, sPup},
		{up, sdown, warn},
		{down, down, down},
		{down, warn, warn},
		{down, sup, sPdn},
		{down, sdown, sdown},
		{warn, warn, warn},
		{warn, sup, warn},
		{warn, sdown, warn},
		{sup, sup, sup},
		{sup, sdown, warn},
		{sdown, sdown, sdown},
		{sPup, down, warn},
		{sPup, up, sPup},
		{sPup, sup, sPup},
		{sPup, sdown, warn},
		{sPup, sPdn, warn},
		{sPup, warn, warn},
		{sPdn, down, sPdn},
		{sPdn, sup, sPdn},
		{sPdn, up, warn},
		{sPdn, sdown, warn},
		{sPdn, warn, warn},
		{na, na, na},
		{undef, undef, undef},
		{undef, na, na},
		{na, up, up},
		{na, down, down},
		{undef, sPdn, sPdn},
		{na, sdown, sdown},
	} {
		if got := cluster.Merge(tt.a, tt.b); got != tt.want {
			t.Errorf("%v(%d) merged with %v(%d) is %v(%d), want %v(%d)", tt.a, tt.a, tt.b, tt.b, got, got, tt.want, tt.want)
		}
	}
}

// mergeLaws returns the names of the laws m breaks, over every status.
func mergeLaws(m merge) map[string]bool {
	broken := map[string]bool{}
	check := func(law string, ok bool) {
		if !ok {
			broken[law] = true
		}
	}
	for _, a := range statuses() {
		check("idempotent", m(a, a) == a)
		check("undef is neutral", m(a, undef) == a)
		check("n/a is neutral", a == undef || m(a, na) == a)
		check("warn absorbs", m(a, warn) == warn)
		for _, b := range statuses() {
			check("commutative", m(a, b) == m(b, a))
			check("closed", m(a, b) >= undef && m(a, b) <= sPdn)
			for _, c := range statuses() {
				check("associative", m(m(a, b), c) == m(a, m(b, c)))
			}
		}
	}
	return broken
}

func TestMergeLawsHoldOverEveryStatus(t *testing.T) {
	t.Parallel()
	if broken := mergeLaws(cluster.Merge); len(broken) > 0 {
		t.Errorf("broken laws: %v", broken)
	}
}

// Each law must be able to fail: a mutant of Merge that breaks it.
func TestMergeLawsCatchMutants(t *testing.T) {
	t.Parallel()
	for law, mutant := range map[string]merge{
		"idempotent":       func(a, b cluster.Status) cluster.Status { return when(a == sup && b == sup, up, cluster.Merge(a, b)) },
		"undef is neutral": func(a, b cluster.Status) cluster.Status { return when(min(a, b) == undef, undef, cluster.Merge(a, b)) },
		"n/a is neutral":   func(a, b cluster.Status) cluster.Status { return when(min(a, b) == na, na, cluster.Merge(a, b)) },
		"warn absorbs":     func(a, b cluster.Status) cluster.Status { return when(a+b == warn+down, down, cluster.Merge(a, b)) },
		"commutative":      func(a, b cluster.Status) cluster.Status { return when(a == up && b == down, down, cluster.Merge(a, b)) },
		"closed": func(a, b cluster.Status) cluster.Status {
			return when(a != b && a*b == up*sup, sPdn+1, cluster.Merge(a, b))
		},
		// Forgetting what was merged, as printing in between does.
		"associative": func(a, b cluster.Status) cluster.Status { return cluster.Merge(a, b).Plain() },
	} {
		if !mergeLaws(mutant)[law] {
			t.Errorf("the mutant of law %q was not caught", law)
		}
	}
}

func when[T any](c bool, yes, no T) T {
	if c {
		return yes
	}
	return no
}

func TestMergeProvisionedLaws(t *testing.T) {
	t.Parallel()
	const (
		pUndef, pNA, pTrue, pFalse, pMixed = cluster.ProvisionedUndef, cluster.ProvisionedNotApplicable,
			cluster.ProvisionedTrue, cluster.ProvisionedFalse, cluster.ProvisionedMixed
	)
	all := []cluster.Provisioned{pUndef, pNA, pTrue, pFalse, pMixed}
	m := cluster.MergeProvisioned

	for _, a := range all {
		if m(a, a) != a || m(a, pUndef) != a || a != pUndef && m(a, pNA) != a || m(a, pMixed) != pMixed {
			t.Errorf("%v is not idempotent, or undef and n/a are not neutral, or mixed does not absorb", a)
		}
		for _, b := range all {
			if m(a, b) != m(b, a) {
				t.Errorf("%v and %v do not commute", a, b)
			}
			for _, c := range all {
				if m(m(a, b), c) != m(a, m(b, c)) {
					t.Errorf("%v, %v, %v do not associate", a, b, c)
				}
			}
		}
	}
	if m(pTrue, pFalse) != pMixed {
		t.Error("true and false are not mixed")
	}
}
