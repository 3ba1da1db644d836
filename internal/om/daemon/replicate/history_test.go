package replicate_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Whatever is done on whatever node, with the daemons killed and the network cut, the
// nodes end with one content, and each text that was written either was replaced by one
// who saw it, or is in an archive.
func TestAnyHistoryEndsWithOneContent(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			run(t, 3, func(net *network) {
				h := &history{net: net, random: rand.New(rand.NewPCG(seed, 1)), p: path("cfg/app"), follows: map[string]string{}}
				for range 40 {
					h.step()
				}
				net.heal()
				for _, name := range []string{"n1", "n2", "n3"} {
					if net.nodes[name].cancel == nil {
						net.nodes[name].start()
					}
				}
				net.settle()
				net.settle()
				net.same(h.p, "", "n1", "n2", "n3")
				h.check()
			})
		})
	}
}

type history struct {
	net     *network
	random  *rand.Rand
	p       object.Path
	count   int
	follows map[string]string // of a text, the one it replaced; "" for none
	gone    []string          // what was deleted by who saw it
}

func (h *history) step() {
	synctest.Wait() // nobody else writes
	n := h.net.nodes[fmt.Sprint("n", 1+h.random.IntN(3))]
	running := n.cancel != nil
	text := n.text(h.p)
	switch h.random.IntN(12) {
	case 0, 1, 2, 3:
		h.count++
		n.set(h.p, fmt.Sprintf("comment=edit %d.", h.count))
		h.follows[n.text(h.p)] = text
	case 4:
		if text != "" {
			h.count++
			write(h.net.t, n, h.p, strings.Replace(text, "comment = ", fmt.Sprintf("comment = hand %d ", h.count), 1), time.Now().Add(time.Duration(h.random.IntN(7200)-3600)*time.Second))
			h.follows[n.text(h.p)] = text
		}
	case 5:
		if text != "" {
			h.gone = append(h.gone, text)
			n.remove(h.p)
		}
	case 6:
		if err := os.Remove(n.store.FileName(h.p)); err == nil {
			h.gone = append(h.gone, text) // by hand: when nobody else has it, that is a deletion
			n.seen(h.p)
		} else if !errors.Is(err, os.ErrNotExist) {
			h.net.t.Error(err)
		}
	case 7:
		h.net.split(n.name)
	case 8:
		h.net.heal()
	case 9:
		if running {
			n.stop()
		} else {
			n.start()
		}
	default:
		h.net.pass(time.Duration(h.random.IntN(5000)) * time.Millisecond)
	}
}

// check finds what became of each text.
func (h *history) check() {
	kept := map[string]bool{}
	follow := func(text string) {
		for text != "" && !kept[text] {
			kept[text] = true
			text = h.follows[text]
		}
	}
	for _, n := range h.net.nodes {
		follow(n.text(h.p))
		for _, text := range n.backups(h.p) {
			follow(text)
		}
	}
	for _, text := range h.gone {
		follow(text)
	}
	for text := range h.follows {
		if !kept[text] {
			h.net.t.Errorf("lost without a trace: %s", text)
		}
	}
}
