package device_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/device"
)

// blkid answers once, in the words of util-linux 2.38.
type blkid struct {
	out string
	err error
}

func (b blkid) Run(context.Context, host.Cmd) (host.Output, error) {
	return host.Output{Stdout: []byte(b.out)}, b.err
}

func (blkid) Start(host.Cmd) (host.Process, error) { return nil, errors.New("nothing is left running") }

func exit(code int, stderr string) error {
	return &host.ExitError{Argv: []string{"blkid"}, Code: code, Stderr: stderr}
}

func TestADeviceIsBlankOnlyWhenThatIsKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, begins string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, append([]byte(begins), make([]byte, 4096)...), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	empty := file("empty", "")
	for name, c := range map[string]struct {
		file, want, err string
		blkid           blkid
	}{
		"nothing":          {file: empty, want: "nothing", blkid: blkid{err: exit(2, "")}},
		"a filesystem":     {file: empty, want: "ext4", blkid: blkid{out: "DEVNAME=/dev/loop0\nUUID=ABC\nVERSION=1.0\nBLOCK_SIZE=1024\nUSAGE=filesystem\nTYPE=ext4\n"}},
		"a physical disk":  {file: empty, want: "LVM2_member", blkid: blkid{out: "DEVNAME=/dev/loop0\nTYPE=LVM2_member\n"}},
		"partitions":       {file: empty, want: "a partition table (gpt)", blkid: blkid{out: "DEVNAME=/dev/loop0\nPTUUID=x\nPTTYPE=gpt\n"}},
		"two at once":      {file: empty, want: "more than one", blkid: blkid{err: exit(8, "")}},
		"what is not told": {file: empty, want: "something", blkid: blkid{out: "DEVNAME=/dev/loop0\n"}},
		"heartbeats":       {file: file("hb", "\x3d\xc1\x3c\x87\xc0\x5b\xe3\xb6"), want: "a heartbeat disk", blkid: blkid{err: exit(2, "")}},
		"no answer":        {file: empty, err: "look what ", blkid: blkid{err: exit(4, "usage")}},
		"a failed look":    {file: empty, err: "look what ", blkid: blkid{err: exit(2, "cannot open")}},
		"no blkid":         {file: empty, err: "look what ", blkid: blkid{err: errors.New("run blkid: not found")}},
		"no device":        {file: filepath.Join(dir, "nosuch"), err: "no such file"},
	} {
		got, err := device.Probe(t.Context(), c.blkid, c.file)
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want %q", name, err, c.err)
		case c.err == "" && (err != nil || !strings.Contains(got.String(), c.want) || got.Blank() != (c.want == "nothing")):
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("DEVNAME=/dev/loop0\nUUID=ABC\nTYPE=ext4\n"))
	f.Add([]byte("=\n\nTYPE"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := device.Parse(text)
		if c.String() == "nothing" && c.Type != "" {
			t.Errorf("%+v", c)
		}
	})
}
