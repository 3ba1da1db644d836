package cloud

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// strange reports whether a 404 may be about the whole API rather than a thing in
// it: no name of a fault, and no word about the last part of the address.
func (f *Fault) strange() bool {
	last := path.Base(strings.SplitN(f.URL, "?", 2)[0])
	return f.Code == "" && !strings.Contains(f.Message, last)
}

// explain adds to a refusal what the session knows of its reason.
func (c *Cloud) explain(f *Fault, s Service, t *Token) error {
	switch f.Status {
	case http.StatusUnauthorized:
		f.hint = c.refused(t)
	case http.StatusForbidden:
		f.hint = t.identity()
	case http.StatusNotAcceptable:
		f.hint = c.Mask(s.unacceptable(f))
	}
	return f
}

// refused says why a service may not take the token.
func (c *Cloud) refused(t *Token) string {
	s := c.settings
	switch {
	case t.late != "":
		return t.late
	case s.authType() == "token":
		return fmt.Sprintf("the token (%s) has expired, was revoked, or is of another cloud: get a new one", s.values["token"].Source)
	case s.authType() == "none":
		return "auth type none sends no credentials, and the service wants some"
	case c.spent() != "":
		return fmt.Sprintf("the token has ended or was revoked, and the %s that gave it serves once: give a new one", c.spent())
	case !c.renewable():
		return fmt.Sprintf("check the credentials of auth type %s (%s)", s.authType(), or(s.values["username"].Source, s.values["token"].Source))
	}
	return "a new token is refused too: the service may trust another Keystone, or its clock or that of Keystone is wrong"
}

// identity says who asked, for a refusal of what the roles do not allow.
func (t *Token) identity() string {
	if t.UserName == "" {
		return ""
	}
	scope := "without a scope"
	switch {
	case t.ProjectName != "":
		scope = "in project " + t.ProjectName
	case t.DomainName != "":
		scope = "in domain " + t.DomainName
	case t.System:
		scope = "in the system"
	}
	roles := "no role"
	if len(t.Roles) > 0 {
		roles = "the roles " + strings.Join(t.Roles, ", ")
	}
	return fmt.Sprintf("user %s has %s %s", t.UserName, roles, scope)
}

// lateness explains a token that is past its end when it arrives: only clocks
// can do that. The token is used all the same, as the clock that counts is theirs.
func lateness(t *Token, now time.Time) string {
	if t.Expires.IsZero() || t.Expires.After(now) {
		return ""
	}
	return fmt.Sprintf("the token had ended at %s when it was issued, by the clock of this machine (%s): check the clocks",
		t.Expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
}

// unacceptable says which microversions there are.
func (s Service) unacceptable(f *Fault) string {
	if s.Microversion == "" {
		return ""
	}
	low, high := f.Header.Get("Openstack-Api-Minimum-Version"), f.Header.Get("Openstack-Api-Maximum-Version")
	for _, name := range []string{"X-Openstack-Nova-Api", "X-Openstack-Ironic-Api"} {
		low = or(low, f.Header.Get(name+"-Minimum-Version"))
		high = or(high, f.Header.Get(name+"-Maximum-Version"))
	}
	low, high = lastWord(low), lastWord(high)
	if high == "" {
		return fmt.Sprintf("microversion %s was asked for (--os-%s-api-version)", s.Microversion, kindOf(s.Type).flag())
	}
	return fmt.Sprintf("microversion %s was asked for, and this cloud has %s to %s (--os-%s-api-version)", s.Microversion, or(low, "some"), high, kindOf(s.Type).flag())
}

// flag is the name of the service in its flags.
func (k kind) flag() string { return strings.ReplaceAll(k.setting, "_", "-") }

func lastWord(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return ""
	}
	return printable(words[len(words)-1])
}
