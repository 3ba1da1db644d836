package openid

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Code is what a person types in the browser of any device.
type Code struct {
	Page string // where
	Text string // what
	Full string // a page where it is typed already; the provider may have none
	End  time.Time
}

const (
	defaultInterval = 5 * time.Second
	slowDown        = 5 * time.Second
	codeLimit       = 30 * time.Minute // whatever the provider says
	lastWait        = time.Minute      // the longest pause between two questions
)

// Device has somebody log in on another device. show is given what to type, and
// where.
func (p *Provider) Device(ctx context.Context, show func(Code)) (Grant, error) {
	if p.device == "" {
		return Grant{}, fmt.Errorf("OpenID provider %s has no device codes: log in with a browser on this host", p.settings.Issuer)
	}
	a, err := p.post(ctx, p.device, url.Values{"scope": {p.scope()}})
	if err != nil {
		return Grant{}, err
	}
	if a.DeviceCode == "" || !typable(a.UserCode) || private(a.Page) != nil {
		return Grant{}, errors.New("the provider gives no code to type, or no page to type it in")
	}
	if private(a.FullPage) != nil {
		a.FullPage = ""
	}
	valid := min(a.Expires.duration(), codeLimit)
	if valid == 0 {
		valid = codeLimit
	}
	show(Code{Page: a.Page, Text: a.UserCode, Full: a.FullPage, End: p.now().Add(valid)})

	waiting, cancel := context.WithTimeout(ctx, valid)
	defer cancel()
	got, err := p.poll(waiting, a)
	switch {
	case ctx.Err() != nil:
		return Grant{}, ctx.Err()
	case waiting.Err() != nil && err != nil:
		return Grant{}, fmt.Errorf("nobody typed the code within %s", valid)
	case err != nil:
		return Grant{}, err
	}
	return p.grant(got, "")
}

// typable tells whether a code can be shown, and typed.
func typable(code string) bool {
	return code != "" && len(code) <= 64 && !strings.ContainsFunc(code, func(r rune) bool { return !unicode.IsPrint(r) })
}

// poll asks whether somebody has typed the code, until the answer is not later.
func (p *Provider) poll(ctx context.Context, code answer) (answer, error) {
	interval := min(code.Interval.duration(), lastWait)
	if interval == 0 {
		interval = defaultInterval
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return answer{}, ctx.Err()
		case <-timer.C:
		}
		a, err := p.post(ctx, p.token, url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {code.DeviceCode},
		})
		refused, told := errors.AsType[*RefusedError](err)
		switch {
		case err == nil:
			return a, nil
		case !told, refused.Code == "" && refused.Status >= 500:
			interval = min(2*interval, lastWait) // the network, or the provider, may be back
		case refused.Code == "authorization_pending":
		case refused.Code == "slow_down":
			interval += slowDown
		default:
			return answer{}, err
		}
		timer.Reset(interval)
	}
}
