package cloud

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// unreachable says why a request got no answer.
func (c *Cloud) unreachable(k call, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	where := k.url
	if u, parsed := url.Parse(k.url); parsed == nil {
		where = u.Scheme + "://" + u.Host
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("the %s service at %s: %w", k.service, where, err)
	}
	return fmt.Errorf("the %s service at %s gave no answer: %w%s", k.service, where, err, c.remedy(err))
}

// remedy is what to do about a failure of the connection, "" when nothing is known.
func (c *Cloud) remedy(err error) string {
	var (
		name      x509.HostnameError
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		lookup    *net.DNSError
	)
	switch {
	case errors.As(err, &name):
		return ": the certificate is that of another machine; use the name it is for in the address, or --insecure to trust it anyway"
	case errors.As(err, &authority):
		return ": give the file of its authority with --os-cacert or OS_CACERT"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ": renew the certificate, or check the clock of this machine"
	case errors.As(err, &record) || strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return ": the service does not speak TLS there; should the address begin with http://?"
	case errors.As(err, &alert):
		return ": the service refused the connection; it may want a client certificate (--os-cert and --os-key)"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return ": check the name of the host, in OS_AUTH_URL or the catalogue"
	case strings.Contains(err.Error(), "no suitable address") && c.settings.text("force_ipv4") != "":
		return fmt.Sprintf(": it has no IPv4 address, and force_ipv4 (%s) wants one", c.settings.values["force_ipv4"].Source)
	case errors.Is(err, syscall.ECONNREFUSED):
		return ": nothing listens there"
	case os.IsTimeout(err):
		if limit, _ := c.settings.timeout(); limit > 0 {
			return fmt.Sprintf(": the limit is %s (%s)", limit, c.settings.values["timeout"].Source)
		}
		return fmt.Sprintf(": silent for %s", silence)
	}
	return ""
}
