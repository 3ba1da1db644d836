package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// standalone is the identity of a service without a Keystone.
func (c *Cloud) standalone(ctx context.Context, kind string) (*Token, error) {
	s := c.settings
	switch kind {
	case "admin_token":
		if s.text("token") == "" || s.text("endpoint") == "" {
			return nil, errors.New("auth type admin_token needs a token and an endpoint: give --os-token and --os-endpoint")
		}
		return &Token{ID: s.text("token")}, nil
	case "http_basic":
		if s.text("username") == "" {
			return nil, errors.New("auth type http_basic needs a user: give --os-username or OS_USERNAME")
		}
		if _, err := c.password(ctx); err != nil {
			return nil, err
		}
	}
	return &Token{}, nil
}

// identify adds the token to a request, or what stands for it.
func (c *Cloud) identify(ctx context.Context, k *call, s Service, token *Token) error {
	switch kind := c.settings.authType(); {
	case kind == "none":
	case kind != "http_basic":
		k.header.Set("X-Auth-Token", token.ID)
	case sameOrigin(k.url, s.Endpoint): // the password is for this address only
		c.mu.Lock()
		defer c.mu.Unlock()
		password, err := c.password(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", redactURLs(k.url), err)
		}
		r := http.Request{Header: k.header}
		r.SetBasicAuth(c.settings.text("username"), password)
	}
	return nil
}
