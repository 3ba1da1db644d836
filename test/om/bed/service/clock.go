package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// step changes the wall clock of one process by whole seconds. No name space has a
// wall clock of its own, and that of the kernel belongs to everybody: the function
// that the kernel gives the process to read its clocks is replaced by one that adds
// an offset. The monotonic clock is not touched; programs that the process starts
// read the true time.
func step(ctx context.Context, pid int, offset time.Duration) error {
	if runtime.GOARCH != "amd64" {
		return errors.New("the clock is stepped on amd64 only")
	}
	if err := unix.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = unix.Kill(pid, syscall.SIGCONT) }()
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = memory.Close() }()
	from, to, err := vdso(pid)
	if err != nil {
		return err
	}
	image := make([]byte, to-from)
	if _, err := memory.ReadAt(image, int64(from)); err != nil {
		return err
	}
	entry, err := function(image)
	if err != nil {
		return err
	}
	// Two halves: the offset and the code at the end of the image, where nothing is,
	// then the jump to it. A second step only changes the offset.
	place := uint64(len(image)) - 64
	seconds := binary.LittleEndian.AppendUint64(nil, uint64(int64(offset/time.Second)))
	code := slices.Concat(seconds, substitute)
	if !bytes.Equal(image[place+8:place+8+uint64(len(substitute))], substitute) {
		if bytes.Trim(image[place:], "\x00") != nil {
			return errors.New("there is no room for another clock")
		}
		if err := elsewhere(ctx, pid, from+entry); err != nil {
			return err
		}
	}
	if _, err := memory.WriteAt(code, int64(from+place)); err != nil {
		return err
	}
	jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(place+8-entry-5))
	_, err = memory.WriteAt(jump, int64(from+entry))
	return err
}

// substitute is clock_gettime by a system call, with the offset that is before it
// added to the seconds of the wall clock.
var substitute = []byte{ //nolint:gochecknoglobals // code
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jne the return
	0x48, 0x8b, 0x0d, 0xe6, 0xff, 0xff, 0xff, // mov rcx, [rip-26]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3, // ret
}

// vdso finds where the kernel put its functions.
func vdso(pid int) (from, to uint64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			_, err := fmt.Sscanf(line, "%x-%x", &from, &to)
			return from, to, err
		}
	}
	return 0, 0, errors.New("the process has no functions of the kernel")
}

func function(image []byte) (uint64, error) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return s.Value, nil
		}
	}
	return 0, errors.New("the kernel gives no clock_gettime")
}

// elsewhere waits until no thread is in the first bytes of the function.
func elsewhere(ctx context.Context, pid int, entry uint64) error {
	return retry.Until(ctx, retry.Policy{Interval: time.Millisecond}, func(context.Context) (bool, error) {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
		if err != nil {
			return false, err
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				continue // it has ended
			}
			fields := strings.Fields(string(b))
			at, err := strconv.ParseUint(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
			if err == nil && at > entry && at < entry+5 || fields[0] == "running" {
				_ = unix.Kill(pid, syscall.SIGCONT)
				_ = unix.Kill(pid, syscall.SIGSTOP)
				return false, nil
			}
		}
		return true, nil
	})
}
