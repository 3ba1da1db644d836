package container_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/driver/container"
)

// What the engines print, shortened to what is read.
const (
	fromPodman = `[{"Id":"9bb6","State":{"Status":"running","ExitCode":0,"Pid":14901},"Image":"90b4","Config":{"Hostname":"2291de33b749","Tty":false,"Cmd":["a","b"],"Entrypoint":"/program","Labels":{"com.opensvc.id":"x"}},"HostConfig":{"NetworkMode":"none","PidMode":"private","CgroupParent":"/a/podman"}}]`
	fromDocker = `[{"Id":"9bb6","State":{"Status":"exited","ExitCode":137},"Image":"sha256:90b4","Config":{"Cmd":null,"Entrypoint":["/inside"],"Labels":null},"HostConfig":{"PidMode":"","CgroupParent":"/a"}}]`
)

func TestDescriptionsOfContainersAreRead(t *testing.T) {
	t.Parallel()
	if id, up, _, err := container.ReadInspect([]byte(fromPodman)); err != nil || id != "9bb6" || !up {
		t.Errorf("podman: %s %v %v", id, up, err)
	}
	if id, _, down, err := container.ReadInspect([]byte(fromDocker)); err != nil || id != "9bb6" || !down {
		t.Errorf("docker: %s %v %v", id, down, err)
	}
	for _, text := range []string{"", "[]", "[null]", "{}", `[{"Id":"9bb6"}]`, `[{"State":{"Status":"running"}}]`, "[" + fromPodman[1:len(fromPodman)-1] + "," + fromDocker[1:]} {
		if _, up, down, err := container.ReadInspect([]byte(text)); err == nil || up || down {
			t.Errorf("%q is taken for a container", text)
		}
	}
}

// What is printed is never taken for a container that runs and does not.
func FuzzInspect(f *testing.F) {
	for _, text := range []string{fromPodman, fromDocker, "[]", `[{"Id":"1","State":{"Status":"paused"},"Config":{"Entrypoint":7}}]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		id, up, down, err := container.ReadInspect(b)
		if up && down || err != nil && (up || down) || err == nil && id == "" {
			t.Errorf("id %q, up %v, down %v, err %v", id, up, down, err)
		}
	})
}
