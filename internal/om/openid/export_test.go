package openid

import "time"

// Choose is choose.
func Choose(client string, tokens ...string) (string, error) {
	token, _, err := choose(client, tokens...)
	return token, err
}

// End is when a token ends.
func End(token string) (time.Time, error) {
	c, err := parse(token)
	return c.end(), err
}
