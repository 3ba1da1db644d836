package relay

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

const (
	// mostAnswer bounds what is read of an answer: a frame, in base64, and what is around.
	mostAnswer = 2 << 20
	// defaultPort is that of the listener of a daemon.
	defaultPort = 1215
)

// Client speaks with a relay.
type Client struct {
	settings schema.HeartbeatSettings
	base     string
	password func(object string) (secret.String, error)
	http     *http.Client
}

// NewClient returns the client of the relay of a heartbeat. password reads the one a
// sec object holds.
func NewClient(s schema.HeartbeatSettings, password func(string) (secret.String, error)) (*Client, error) {
	base, err := address(s.Relay)
	if err != nil {
		return nil, err
	}
	return &Client{
		settings: s, base: base, password: password,
		http: &http.Client{
			Transport: &http.Transport{
				TLSClientConfig:     &tls.Config{InsecureSkipVerify: s.Insecure, MinVersion: tls.VersionTLS12}, //nolint:gosec // as the configuration says
				MaxIdleConnsPerHost: 2, ForceAttemptHTTP2: true,
			},
			// The password is for that server only.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// address is the url of a relay.
func address(text string) (string, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "https", text
	}
	if scheme != "https" {
		return "", fmt.Errorf("relay %s: a relay is spoken to over https", text)
	}
	rest, _, _ = strings.Cut(rest, "/")
	if rest == "" {
		return "", errors.New("the heartbeat has no relay: set relay, as relay.example.com:1215")
	}
	if _, _, err := net.SplitHostPort(rest); err != nil {
		rest = net.JoinHostPort(strings.Trim(rest, "[]"), strconv.Itoa(defaultPort))
	}
	return "https://" + rest, nil
}

// Close lets go of the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Post leaves a frame for the peers.
func (c *Client) Post(ctx context.Context, clusterID, clusterName, node string, frame []byte) error {
	body, err := json.Marshal(api.RelayPost{
		ClusterID: clusterID, ClusterName: clusterName, Node: node, Message: base64.StdEncoding.EncodeToString(frame),
	})
	if err != nil {
		return err
	}
	return c.call(ctx, api.PostRelayMessage.Method, api.PostRelayMessage.Path, nil, body, nil)
}

// errNone is the error of a message that is not there.
var errNone = errors.New("the relay has no message of the node")

// Get fetches the last frame of a peer.
func (c *Client) Get(ctx context.Context, clusterID, node string) ([]byte, error) {
	var m api.RelayMessage
	query := url.Values{"cluster_id": {clusterID}, "nodename": {node}}
	if err := c.call(ctx, api.GetRelayMessage.Method, api.GetRelayMessage.Path, query, nil, &m); err != nil {
		return nil, err
	}
	frame, err := base64.StdEncoding.DecodeString(m.Message)
	if err != nil {
		return nil, fmt.Errorf("%s answers what is no message: %w", c.base, err)
	}
	return frame, nil
}

// Status lists what the relay has of this user.
func (c *Client) Status(ctx context.Context) ([]api.RelayStatus, error) {
	var list api.RelayStatusList
	err := c.call(ctx, api.GetRelayStatus.Method, api.GetRelayStatus.Path, nil, nil, &list)
	return list.Items, err
}

func (c *Client) call(ctx context.Context, method, path string, query url.Values, body []byte, answer any) (err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	password, err := c.password(c.settings.Password)
	if err != nil {
		return fmt.Errorf("the password of user %s of the relay: %w", c.settings.Username, err)
	}
	r.SetBasicAuth(c.settings.Username, password.Reveal())
	r.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.base, err)
	case response.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return errNone
	case response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("relay %s does not know user %s with the password of %s", c.base, c.settings.Username, c.settings.Password)
	case response.StatusCode == http.StatusForbidden:
		return fmt.Errorf("relay %s does not let user %s: give it the grant heartbeat there", c.base, c.settings.Username)
	case response.StatusCode < 200 || response.StatusCode > 299:
		return fmt.Errorf("relay %s answers %s", c.base, response.Status)
	case answer == nil:
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("relay %s answers what it should not: %w", c.base, err)
	}
	return nil
}
