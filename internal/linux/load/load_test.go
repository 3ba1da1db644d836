package load_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/linux/load"
)

const average = "0.50 1.25 2.75 1/210 4242\n"

const memory = `MemTotal:       16384000 kB
MemFree:          500000 kB
MemAvailable:    8192000 kB
SwapTotal:       2000000 kB
SwapFree:        1500000 kB
HugePages_Total:       0
`

func proc(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := load.Read(proc(t, map[string]string{"loadavg": average, "meminfo": memory}))
	if err != nil {
		t.Fatal(err)
	}
	want := load.Load{
		Average15: 2.75,
		Mem:       load.Memory{Total: 16384000 << 10, Available: 8192000 << 10},
		Swap:      load.Memory{Total: 2000000 << 10, Available: 1500000 << 10},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := got.Swap.Percent(); p != 75 {
		t.Errorf("%d%% of the swap is available, want 75", p)
	}
	if p := (load.Memory{}).Percent(); p != 100 {
		t.Errorf("a host without swap has %d%% of it", p)
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"nothing":        {},
		"short average":  {"loadavg": "0.5", "meminfo": memory},
		"no average":     {"loadavg": "a b c", "meminfo": memory},
		"no memory":      {"loadavg": average},
		"no total":       {"loadavg": average, "meminfo": "SwapTotal: 1 kB\n"},
		"no number":      {"loadavg": average, "meminfo": "MemTotal: many kB\n"},
		"out of numbers": {"loadavg": average, "meminfo": "MemTotal: 18446744073709551615 kB\n"},
	} {
		if l, err := load.Read(proc(t, files)); err == nil {
			t.Errorf("%s reads as %+v", name, l)
		}
	}
}
