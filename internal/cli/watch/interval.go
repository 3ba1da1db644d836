package watch

import (
	"fmt"
	"strconv"
	"time"
)

// ParseInterval reads the value of --watch: a duration such as 500ms or 1m30s, or
// a number of seconds. An empty text is [DefaultInterval].
func ParseInterval(text string) (time.Duration, error) {
	if text == "" {
		return DefaultInterval, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		// Seconds by way of the same parser: it knows what is a number and what overflows.
		if _, numErr := strconv.ParseFloat(text, 64); numErr == nil {
			d, err = time.ParseDuration(text + "s")
		}
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("interval %q is no duration: write 2s, 500ms or a number of seconds", text)
	case d < MinInterval:
		return 0, fmt.Errorf("interval %s is too short: at least %s", text, MinInterval)
	case d > MaxInterval:
		return 0, fmt.Errorf("interval %s is too long: at most %s", text, span(MaxInterval))
	}
	return d, nil
}

// span is a duration as people write it: 2s, 1m30s, 5m, 2h, 250ms.
func span(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if len(text) > len(zero) && text[len(text)-len(zero):] == zero {
			text = text[:len(text)-2]
		}
	}
	return text
}

// slower and faster are the next stop of the keys + and -: by quarters up to a
// second, by seconds up to ten, then by ever larger steps.
func slower(d time.Duration) time.Duration {
	return min(d-d%step(d)+step(d), MaxInterval)
}

func faster(d time.Duration) time.Duration {
	by := step(d - 1)
	if rest := d % by; rest != 0 {
		return max(d-rest, MinInterval)
	}
	return max(d-by, MinInterval)
}

func step(d time.Duration) time.Duration {
	switch {
	case d < time.Second:
		return 250 * time.Millisecond
	case d < 10*time.Second:
		return time.Second
	case d < time.Minute:
		return 5 * time.Second
	case d < 10*time.Minute:
		return 30 * time.Second
	default:
		return 5 * time.Minute
	}
}
