package kind

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"sigs.k8s.io/kind/pkg/log"
)

// voice hands on what kind says of its progress, until the context ends.
type voice struct {
	over <-chan struct{}
	mu   sync.Mutex
	say  func(string)
}

var (
	_ log.Logger     = (*voice)(nil)
	_ log.InfoLogger = (*voice)(nil)
	_ log.InfoLogger = silence{}
)

func newLog(ctx context.Context, say func(string)) *voice { return &voice{over: ctx.Done(), say: say} }

// Info says a line. Kind announces each phase with a dot and repeats it when it has
// ended, well or not, which is left out.
func (v *voice) Info(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		phase, announced := strings.CutPrefix(line, "•")
		if announced {
			line = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(phase), "..."))
			line = strings.TrimRightFunc(line, func(r rune) bool { return r > unicode.MaxLatin1 || unicode.IsSpace(r) })
		}
		if line == "" || strings.HasPrefix(line, "✓") || strings.HasPrefix(line, "✗") {
			continue
		}
		v.mu.Lock()
		select {
		case <-v.over:
		default:
			v.say(line)
		}
		v.mu.Unlock()
	}
}

// Infof says a line.
func (v *voice) Infof(format string, a ...any) { v.Info(fmt.Sprintf(format, a...)) }

// Enabled is true: somebody listens.
func (*voice) Enabled() bool { return true }

// Warn says a warning.
func (v *voice) Warn(text string) { v.Info(text) }

// Warnf says a warning.
func (v *voice) Warnf(format string, a ...any) { v.Infof(format, a...) }

// Error says what went wrong; kind returns it as well when it matters.
func (v *voice) Error(text string) { v.Info(text) }

// Errorf says what went wrong.
func (v *voice) Errorf(format string, a ...any) { v.Infof(format, a...) }

// V is the voice for progress and nothing for details.
func (v *voice) V(level log.Level) log.InfoLogger {
	if level > 0 {
		return silence{}
	}
	return v
}

// silence swallows details.
type silence struct{}

// Info does nothing.
func (silence) Info(string) {}

// Infof does nothing.
func (silence) Infof(string, ...any) {}

// Enabled is false.
func (silence) Enabled() bool { return false }
