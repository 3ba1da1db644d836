package mount_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/linux/mount"
)

func TestOptionsAreThoseOfTheKernelOrOfTheFilesystem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mount.Options{
		"":                                 {},
		"defaults":                         {},
		"ro,noatime":                       {Flags: unix.MS_RDONLY | unix.MS_NOATIME},
		"ro,rw":                            {},
		"nosuid,nodev,size=1m,mode=755":    {Flags: unix.MS_NOSUID | unix.MS_NODEV, Data: "size=1m,mode=755"},
		"bind,ro":                          {Flags: unix.MS_BIND | unix.MS_RDONLY, Bind: true},
		"rbind":                            {Flags: unix.MS_BIND | unix.MS_REC, Bind: true},
		"noauto,_netdev,x-systemd.after=a": {},
		"errors=remount-ro,noexec":         {Flags: unix.MS_NOEXEC, Data: "errors=remount-ro"},
	} {
		if got, err := mount.ParseOptions(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"remount,rw", "loop", "loop=/dev/loop1", "ro,offset=1", "a b", "size=1 m", "=x"} {
		if got, err := mount.ParseOptions(text); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

// The last of two words that contradict each other wins, as mount(8) has it.
func TestTheLastOptionWins(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"ro", "rw"}, {"nosuid", "suid"}, {"noexec", "exec"}, {"nodev", "dev"}, {"sync", "async"}}
	rapid.Check(t, func(rt *rapid.T) {
		want := map[int]int{}
		var words []string
		for range rapid.IntRange(0, 12).Draw(rt, "n") {
			pair, word := rapid.IntRange(0, len(pairs)-1).Draw(rt, "pair"), rapid.IntRange(0, 1).Draw(rt, "word")
			want[pair] = word
			words = append(words, pairs[pair][word])
		}
		var last []string
		for i, pair := range pairs {
			if word, ok := want[i]; ok {
				last = append(last, pair[word])
			}
		}
		got, err := mount.ParseOptions(strings.Join(words, ","))
		same, serr := mount.ParseOptions(strings.Join(last, ","))
		if err != nil || serr != nil || got != same {
			rt.Errorf("%v is %+v, want that of %v, %+v: %v %v", words, got, last, same, err, serr)
		}
	})
}
