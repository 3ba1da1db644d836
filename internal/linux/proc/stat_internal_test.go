package proc

import "testing"

func TestParseStat(t *testing.T) {
	t.Parallel()
	line := "42 (a) b) (c) S 1 41 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 0 0"
	got, err := parseStat(line)
	want := Process{Pid: 42, Parent: 1, Session: 40, State: 'S', StartTime: 777}
	if err != nil || got != want {
		t.Errorf("parseStat = %+v, %v, want %+v", got, err, want)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("42 (a) b) (c) S 1 41 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 0 0")
	f.Add("1 () ")
	f.Add(") (")
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := parseStat(s); err != nil && p != (Process{}) {
			t.Errorf("parseStat(%q) = %+v with error %v", s, p, err)
		}
	})
}
