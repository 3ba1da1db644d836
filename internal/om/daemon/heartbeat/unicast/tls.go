package unicast

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// Dial opens a TLS connection that speaks [Protocol]. The certificate of the peer is
// not looked at: what is sent is sealed for the nodes of the cluster, whoever carries
// it.
func Dial(ctx context.Context, t Target) (net.Conn, error) {
	d := tls.Dialer{
		NetDialer: &net.Dialer{Control: control(t.Intf, t.Silence)},
		Config:    &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, NextProtos: []string{Protocol}}, //nolint:gosec // see above
	}
	conn, err := d.DialContext(ctx, "tcp", t.Addr)
	if err != nil {
		return nil, err
	}
	if c, ok := conn.(*tls.Conn); ok && c.ConnectionState().NegotiatedProtocol != Protocol {
		return nil, errors.Join(fmt.Errorf("%s does not speak %s", t.Addr, Protocol), conn.Close())
	}
	return conn, nil
}

// Listen returns what opens a listener with a certificate.
func Listen(certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) func(context.Context, string, int, string) (net.Listener, error) {
	return func(ctx context.Context, addr string, port int, intf string) (net.Listener, error) {
		l, err := (&net.ListenConfig{Control: control(intf, 0)}).Listen(ctx, "tcp", net.JoinHostPort(addr, strconv.Itoa(port)))
		if err != nil {
			return nil, fmt.Errorf("listen for heartbeats: %w", err)
		}
		return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: certificate, NextProtos: []string{Protocol}}), nil
	}
}
