package cloud

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseBool reads a boolean of the environment or a file. Empty is false; what is
// neither true nor false is an error, never a guess.
func ParseBool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "t", "true", "y", "yes", "on", "enable", "enabled":
		return true, nil
	case "", "0", "f", "false", "n", "no", "off", "disable", "disabled":
		return false, nil
	}
	return false, fmt.Errorf("%q: expected a boolean: one of 1, true, yes, on, 0, false, no, off", text)
}

// ParseTimeout reads a duration, 90s, or a number of seconds; 0 and empty are none.
func ParseTimeout(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), nil
	}
	return 0, fmt.Errorf("%q: expected a duration such as 90s, or a number of seconds, not below 0", text)
}

// unusable are the variables of the environment that cannot be understood. One of
// them must never be taken for "do not check certificates".
func unusable(env func(string) string) []string {
	var bad []string
	for _, name := range []string{"OS_INSECURE", "OS_DEBUG", "KOC_TOKEN_CACHE"} {
		if _, err := ParseBool(env(name)); err != nil {
			bad = append(bad, name+"="+err.Error())
		}
	}
	if _, err := ParseTimeout(env("OS_TIMEOUT")); err != nil {
		bad = append(bad, "OS_TIMEOUT="+err.Error())
	}
	return bad
}

// on reports whether a switch is on: typed, or in the environment.
func (c *Cloud) on(typed bool, env string) bool {
	also, err := ParseBool(c.options.Env(env))
	return typed || err == nil && also
}

func (s *settings) timeout() (time.Duration, error) {
	v := s.values["timeout"]
	d, err := ParseTimeout(v.Value)
	if err != nil {
		return 0, fmt.Errorf("%s=%w", v.origin("api_timeout"), err)
	}
	return d, nil
}

// unverified reports whether certificates are not checked.
func (s *settings) unverified() (bool, error) {
	v := s.values["insecure"]
	on, err := ParseBool(v.Value)
	if err != nil {
		return false, fmt.Errorf("%s=%w", v.origin("verify"), err)
	}
	return on, nil
}
