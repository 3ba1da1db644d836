package schema

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

const maxPort = 65535

// ListenerSettings are the keywords of the listener section.
type ListenerSettings struct {
	Addr               string
	Port               int
	CRL                string
	DNSSockUID         string
	DNSSockGID         string
	OpenIDIssuer       string
	OpenIDClientID     string
	RateLimiterRate    int
	RateLimiterBurst   int
	RateLimiterExpires time.Duration
	UXOwnerGroup       string
	TLSSecs            []string
	ACMEPort           int
}

// Keywords declares the keywords of the listener section.
func (s *ListenerSettings) Keywords(k *keyword.Table) {
	k.String(&s.Addr, "addr", "The address the listener binds. All of them by default.").Scopable().Alias("tls_addr").Eg("192.0.2.1").Check(keyword.Host)
	k.Int(&s.Port, "port", "The port the listener binds.").Between(1, maxPort).Scopable().Alias("tls_port").Default("1215")
	k.String(&s.CRL, "crl", "The file, or the url, of the certificates the listener refuses.").
		Default("{var}/certs/ca_crl").Eg("http://crl.example.com").Check(keyword.URLOrFile)
	k.String(&s.DNSSockUID, "dns_sock_uid", "The owner of the socket the name server asks, by name or uid.").Default("953").Check(keyword.Account)
	k.String(&s.DNSSockGID, "dns_sock_gid", "The group of the socket the name server asks, by name or gid.").Default("953").Check(keyword.Account)
	k.String(&s.OpenIDIssuer, "openid_issuer", "The OpenID provider whose tokens are accepted.").Eg("https://auth.example.com/realms/clusters").Check(keyword.URL)
	k.String(&s.OpenIDClientID, "openid_client_id", "The audience the tokens of the OpenID provider must have.").Default("om3")
	k.Int(&s.RateLimiterRate, "rate_limiter_rate", "How many requests a second one address may send. Zero is no limit.").AtLeast(0).Scopable().Default("20")
	k.Int(&s.RateLimiterBurst, "rate_limiter_burst", "How many requests one address may send at once.").AtLeast(0).Scopable().Default("100")
	k.Duration(&s.RateLimiterExpires, "rate_limiter_expires", "How long a silent address is remembered.").Scopable().Default("60s")
	k.String(&s.UXOwnerGroup, "ux_owner_group", "The unix group whose members may open the socket of the local accounts. A node that does not know the group serves no such socket.").Default("opensvc").Eg("ops").Check(keyword.Account)
	k.List(&s.TLSSecs, "tls_secs", "The sec objects whose certificates are presented to the clients that ask one of their names.").Eg("system/sec/public").Check(keyword.Each(keyword.Sec))
	k.Int(&s.ACMEPort, "acme_port", "The port where the nodes answer http-01 challenges. Zero: they do not.").Between(0, maxPort).Default("0").Eg("80")
}

func listener() keyword.Section {
	return untyped("listener", "The API of the daemon.",
		func(k *keyword.Table) { (&ListenerSettings{}).Keywords(k) })
}
