// Package acmetest is an ACME directory for tests, in the process: it speaks
// enough of RFC 8555 to issue certificates, and refuses when it is told to. It
// does not verify signatures; the lab has a directory that does.
package acmetest

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// Problem is an answer that refuses.
type Problem struct {
	Status int               `json:"status"`
	Type   string            `json:"type"`
	Detail string            `json:"detail"`
	Header map[string]string `json:"-"`
}

// Directory is the server.
type Directory struct {
	*httptest.Server

	// Verify returns what is read at the path of a challenge of a name; nil fails
	// every challenge.
	Verify func(name, token string) string
	// Refuse returns the answer to a request, by the name of its operation, nil
	// for the usual one. It may count them.
	Refuse func(operation string) *Problem
	// Token is the name of every challenge, when it is not of the right kind.
	Token string

	mu       sync.Mutex
	issuer   *certificate.Pair
	contacts []string
	accounts map[string]bool // by key
	order    order
	asked    []string // operations
}

type order struct {
	names []string
	valid map[string]string // state of the authorization of a name
	chain []byte
}

// New starts a directory, until the test ends.
func New(tb testing.TB) *Directory {
	tb.Helper()
	maker := certificate.Maker{Random: rand.Reader, Now: time.Now()}
	issuer, err := maker.SelfSign(certificate.Request{Validity: 365 * 24 * time.Hour, Usage: certificate.Authority})
	if err != nil {
		tb.Fatal(err)
	}
	d := &Directory{issuer: issuer, accounts: map[string]bool{}}
	d.Server = httptest.NewTLSServer(http.HandlerFunc(d.serve))
	tb.Cleanup(d.Close)
	return d
}

// Address is the url of the directory.
func (d *Directory) Address() string { return d.URL + "/dir" }

// Asked lists the operations, in order.
func (d *Directory) Asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.asked...)
}

// Accounts is how many were registered, and the contacts of the last one.
func (d *Directory) Accounts() (int, []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.accounts), d.contacts
}

func (d *Directory) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header().Set("Replay-Nonce", strconv.Itoa(len(d.asked)))
	operation, argument, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	d.asked = append(d.asked, operation)
	if d.Refuse != nil {
		if p := d.Refuse(operation); p != nil {
			for name, value := range p.Header {
				w.Header().Set(name, value)
			}
			w.Header().Set("Content-Type", "application/problem+json")
			d.answer(w, p.Status, p)
			return
		}
	}
	key, payload := d.read(r)
	switch operation {
	case "dir":
		d.answer(w, http.StatusOK, map[string]any{
			"newNonce": d.URL + "/nonce", "newAccount": d.URL + "/account", "newOrder": d.URL + "/order", "revokeCert": d.URL + "/revoke",
			"meta": map[string]string{"termsOfService": "https://example.com/terms"},
		})
	case "account":
		d.account(w, key, payload)
	case "order":
		d.newOrder(w, payload)
	case "anorder":
		d.show(w)
	case "authz":
		d.authz(w, argument)
	case "challenge":
		d.verify(w, argument)
	case "finalize":
		d.finalize(w, payload)
	case "certificate":
		_, _ = w.Write(d.order.chain)
	}
}

// read returns the key and the content of a signed request.
func (*Directory) read(r *http.Request) (key string, payload []byte) {
	body, _ := io.ReadAll(r.Body)
	var signed struct{ Protected, Payload string }
	if json.Unmarshal(body, &signed) != nil {
		return "", nil
	}
	header, _ := base64.RawURLEncoding.DecodeString(signed.Protected)
	var protected struct{ JWK json.RawMessage }
	_ = json.Unmarshal(header, &protected)
	payload, _ = base64.RawURLEncoding.DecodeString(signed.Payload)
	return string(protected.JWK), payload
}

func (*Directory) answer(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (d *Directory) account(w http.ResponseWriter, key string, payload []byte) {
	var asked struct{ Contact []string }
	_ = json.Unmarshal(payload, &asked)
	status := http.StatusCreated
	if d.accounts[key] {
		status = http.StatusOK
	} else {
		d.accounts[key], d.contacts = true, asked.Contact
	}
	w.Header().Set("Location", d.URL+"/anaccount")
	d.answer(w, status, map[string]string{"status": "valid"})
}

func (d *Directory) newOrder(w http.ResponseWriter, payload []byte) {
	var asked struct {
		Identifiers []struct{ Type, Value string }
	}
	_ = json.Unmarshal(payload, &asked)
	d.order = order{valid: map[string]string{}}
	for _, id := range asked.Identifiers {
		d.order.names = append(d.order.names, id.Value)
		d.order.valid[id.Value] = "pending"
	}
	w.Header().Set("Location", d.URL+"/anorder")
	w.WriteHeader(http.StatusCreated)
	d.show(w)
}

func (d *Directory) show(w http.ResponseWriter) {
	status := "ready"
	var urls []string
	for _, name := range d.order.names {
		urls = append(urls, d.URL+"/authz/"+name)
		switch d.order.valid[name] {
		case "pending":
			status = "pending"
		case "invalid":
			status = "invalid"
		}
	}
	v := map[string]any{"status": status, "authorizations": urls, "finalize": d.URL + "/finalize"}
	if d.order.chain != nil {
		v["status"], v["certificate"] = "valid", d.URL+"/certificate"
	}
	_ = json.NewEncoder(w).Encode(v)
}

func (d *Directory) token(name string) string {
	if d.Token != "" {
		return d.Token
	}
	return "token-" + strings.ReplaceAll(strings.ReplaceAll(name, ".", "_"), ":", "_")
}

func (d *Directory) authz(w http.ResponseWriter, name string) {
	challenge := map[string]any{"type": "http-01", "url": d.URL + "/challenge/" + name, "token": d.token(name), "status": d.order.valid[name]}
	if d.order.valid[name] == "invalid" {
		challenge["error"] = Problem{Status: http.StatusForbidden, Type: "urn:ietf:params:acme:error:unauthorized", Detail: "the answer of " + name + " is another one"}
	}
	typ := "dns"
	if _, err := netip.ParseAddr(name); err == nil {
		typ = "ip"
	}
	d.answer(w, http.StatusOK, map[string]any{
		"status": d.order.valid[name], "identifier": map[string]string{"type": typ, "value": name}, "challenges": []any{challenge},
	})
}

func (d *Directory) verify(w http.ResponseWriter, name string) {
	token := d.token(name)
	d.order.valid[name] = "invalid"
	if d.Verify != nil && strings.HasPrefix(d.Verify(name, token), token+".") {
		d.order.valid[name] = "valid"
	}
	d.answer(w, http.StatusOK, map[string]string{"type": "http-01", "url": d.URL + "/challenge/" + name, "token": token, "status": "processing"})
}

func (d *Directory) finalize(w http.ResponseWriter, payload []byte) {
	var asked struct{ CSR string }
	_ = json.Unmarshal(payload, &asked)
	der, _ := base64.RawURLEncoding.DecodeString(asked.CSR)
	chain, err := d.sign(der)
	if err != nil {
		d.answer(w, http.StatusBadRequest, Problem{Status: http.StatusBadRequest, Type: "urn:ietf:params:acme:error:badCSR", Detail: err.Error()})
		return
	}
	d.order.chain = chain
	w.Header().Set("Location", d.URL+"/anorder")
	d.show(w)
}

// sign issues the certificate of a request, for as long as such authorities do.
func (d *Directory) sign(der []byte) ([]byte, error) {
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, err
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, err
	}
	request, err := certificate.From(schema.CertificateSettings{CommonName: d.order.names[0], AltNames: d.order.names[1:], Validity: 90 * 24 * time.Hour}, certificate.Server)
	if err != nil {
		return nil, err
	}
	maker := certificate.Maker{Random: rand.Reader, Now: time.Now()}
	leaf, err := maker.Certify(request, csr.PublicKey, d.issuer)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return certificate.EncodeChain(leaf...), nil
}
