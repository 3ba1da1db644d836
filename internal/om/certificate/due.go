package certificate

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Want is what the certificate of an object should be.
type Want struct {
	CommonName string
	Names      []string
	Directory  string        // url of the ACME directory that issues it; "": nobody in particular
	Before     time.Duration // how long before its expiry it is renewed
}

// Have is the certificate of an object.
type Have struct {
	Leaf      *x509.Certificate // nil: there is none
	Wrong     error             // why it cannot be read, when it cannot
	Directory string            // that issued it, "": none
}

// Verdict tells whether a certificate is to be renewed.
type Verdict struct {
	Due    bool
	Reason string // of what is decided, for people
}

// Decide says whether a certificate is renewed now.
func Decide(want Want, have Have, now time.Time) Verdict {
	due := func(format string, a ...any) Verdict { return Verdict{Due: true, Reason: fmt.Sprintf(format, a...)} }
	if have.Leaf == nil {
		if have.Wrong != nil && !errors.Is(have.Wrong, ErrNone) {
			return due("the certificate cannot be used: %s", strings.ReplaceAll(have.Wrong.Error(), "\n", "; "))
		}
		return due("no certificate")
	}
	until := have.Leaf.NotAfter.In(now.Location()).Format(time.RFC3339)
	certified := Certified(have.Leaf)
	if len(want.Names) > 0 && !sameNames(certified, want.Names) {
		return due("the certificate names %s, not %s", list(certified), list(want.Names))
	}
	if cn, name := have.Leaf.Subject.CommonName, want.CommonName; name != "" && cn != name && !slices.Contains(want.Names, name) {
		return due("the certificate is that of %s, not of %s", cmp.Or(cn, "nobody"), name)
	}
	switch before := within(want.Before, have.Leaf); {
	case !now.Before(have.Leaf.NotAfter):
		return due("the certificate expired on %s", until)
	case have.Leaf.NotAfter.Sub(now) <= before:
		return due("the certificate expires on %s", until)
	case want.Directory == "":
	case SelfSigned(have.Leaf):
		return due("the certificate is self-signed")
	case have.Directory == "":
		return due("the certificate was not issued by %s", want.Directory)
	case have.Directory != want.Directory:
		return due("the certificate was issued by %s", have.Directory)
	}
	return Verdict{Reason: "the certificate is valid until " + until}
}

// within is how long before its end a certificate is renewed. One that is valid
// for no longer than that would be renewed each time it is looked at: a third
// of its life counts instead, from when it was made, an hour after it begins.
func within(before time.Duration, c *x509.Certificate) time.Duration {
	if life := max(c.NotAfter.Sub(c.NotBefore)-backdate, 0); before >= life {
		return life / 3
	}
	return before
}

func sameNames(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, " ")
}
