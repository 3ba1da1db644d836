package openid

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// claims are what a token says, unverified.
type claims struct {
	Subject      string          `json:"sub"`
	Audience     audience        `json:"aud"`
	Expiry       float64         `json:"exp"`
	Nonce        string          `json:"nonce"`
	Entitlements json.RawMessage `json:"entitlements"`
}

// end is when the token ends.
func (c claims) end() time.Time { return time.Unix(int64(c.Expiry), 0) }

// audience is a text or a list of them.
type audience []string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *audience) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audience{one}
		return nil
	}
	var list []string
	err := json.Unmarshal(data, &list)
	*a = list
	return err
}

// maxTime keeps the end of a token within what a file of JSON can hold: the year 9999
// is not all of it, wherever one is.
const maxTime = 253370764800

var errNoToken = errors.New("no token that can be read")

// parse reads what a token says. Tokens that only the provider can read say nothing.
func parse(token string) (claims, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}, errNoToken
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}, errNoToken
	}
	var c claims
	if json.Unmarshal(data, &c) != nil || c.Expiry < 0 || c.Expiry > maxTime {
		return claims{}, errNoToken // not the text of the decoder: it quotes
	}
	return c, nil
}

// choose returns the token to show to the cluster: one that is for it, and of those
// the first one that entitles to something.
func choose(client string, tokens ...string) (string, claims, error) {
	var chosen string
	var said claims
	for _, token := range tokens {
		c, err := parse(token)
		if err != nil || !slices.Contains(c.Audience, client) || c.Subject == "" || c.Expiry == 0 {
			continue
		}
		if chosen == "" || len(said.Entitlements) == 0 && len(c.Entitlements) > 0 {
			chosen, said = token, c
		}
	}
	if chosen == "" {
		return "", claims{}, fmt.Errorf("none of the tokens of the provider is for client %s: its audience must name it", client)
	}
	return chosen, said, nil
}
