package container_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/container"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

const image = "image = localhost/inside:1\nnetns = none\n"

func spec(engine string) resource.Spec {
	if engine == "docker" {
		return container.Docker
	}
	return container.Podman
}

func engines() []string { return []string{"podman", "docker"} }

func fixture(t *testing.T, engine, config string, log *strings.Builder) (*drivertest.Fixture, *double) {
	t.Helper()
	d := newDouble(engine)
	f := drivertest.New(t, drivertest.Case{Spec: spec(engine), Config: config, Double: func() host.Runner { return d }}, log)
	return f, d
}

func messages(r cluster.ResourceStatus) string {
	var all []string
	for _, e := range r.Log {
		all = append(all, e.Level+": "+e.Message)
	}
	return strings.Join(all, "\n")
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestContainersObeyTheLawsOfDrivers(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for _, more := range []string{"", "rm = true\n"} {
				drivertest.Run(t, drivertest.Case{Spec: spec(engine), Config: image + more, Double: func() host.Runner { return newDouble(engine) }})
			}
		})
	}
}

func TestTheCommandLineSaysWhatTheKeywordsSay(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f, d := fixture(t, engine, image+`command = serve --title "my shop" --name
entrypoint = /inside --first
hostname = front
user = www:www
cwd = /srv
dns_search = a.example b.example
volume_mounts = {dir}:/data:ro
devices = /dev/fuse
sysctl = net.core.somaxconn=1024
privileged = true
read_only = true
interactive = true
tty = true
environment = LANG=C "TITLE=my shop"
run_args = --cap-add NET_ADMIN --name other -t --hostname=other --env MORE=1
`, nil)
			f.Must(instance.Start)
			got := d.commands("run")
			if len(got) != 1 {
				t.Fatalf("run %d times", len(got))
			}
			want := strings.Fields(engine + ` run --name test..svc.container.1 --hostname front --tty=true --detach=true --pull never
--privileged=true --read-only=true --user www:www --workdir /srv --interactive=true --init=true --entrypoint /inside --network none
--dns-search a.example --dns-search b.example --sysctl net.core.somaxconn=1024 --device /dev/fuse --volume DIR:/data:ro
--env OPENSVC_RID=container#1 --env OPENSVC_NAME=svc --env OPENSVC_KIND=svc --env OPENSVC_ID=0e745444-6724-48f9-8167-e865b4f9ec94 --env OPENSVC_NAMESPACE=test
--env LANG=C --env TITLE=my_shop --label com.opensvc.id=0e745444-6724-48f9-8167-e865b4f9ec94 --label com.opensvc.path=test/svc/svc
--label com.opensvc.namespace=test --label com.opensvc.name=svc --label com.opensvc.kind=svc --label com.opensvc.rid=container#1
--cap-add NET_ADMIN --env MORE=1 -- localhost/inside:1 --first serve --title my_shop --name`)
			for i := range want {
				want[i] = strings.ReplaceAll(strings.ReplaceAll(want[i], "my_shop", "my shop"), "DIR", f.Dir)
			}
			if diff := cmp.Diff(want, got[0]); diff != "" {
				t.Error(diff)
			}
			if r := f.Resource(); r.Status != cluster.Up || len(r.Log) > 0 {
				t.Errorf("status %s\n%s", r.Status, messages(r))
			}
		})
	}
}

func TestSecretsGoThroughTheInputOfTheEngine(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			f, d := fixture(t, engine, image+"secrets_environment = PASSWORD=db/password\nconfigs_environment = shop/port\n", &log)
			f.Data = func(p object.Path, key string) ([]byte, error) {
				return []byte(p.String() + ` "` + key + `" #hunter2`), nil
			}
			f.Must(instance.Start)
			all := strings.Join(slices.Concat(d.commands("run")...), " ")
			contains(t, all, "--env-file /dev/stdin")
			if strings.Contains(all+log.String(), "hunter2") {
				t.Errorf("the secret is in the arguments or in the log:\n%s\n%s", all, log.String())
			}
			want := []string{`PORT=test/cfg/shop "port" #hunter2`, `PASSWORD=test/sec/db "password" #hunter2`}
			if diff := cmp.Diff(want, d.containers[0].env[5:]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Docker repeats the bytes it does not understand, podman gives the container others.
func TestAValueThatNoEngineTakesIsRefusedWithoutBeingShown(t *testing.T) {
	t.Parallel()
	for value, why := range map[string]string{
		"-----BEGIN\nhunter2":                   "several lines",
		"\xff\xfehunter2":                       "not text in UTF-8",
		"hunter2" + strings.Repeat("x", 64<<10): "longer than",
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			f, d := fixture(t, "podman", image+"secrets_environment = KEY=tls/key\n", nil)
			f.Data = func(object.Path, string) ([]byte, error) { return []byte(value), nil }
			err := f.Do(instance.Start)
			if err == nil || strings.Contains(err.Error(), "hunter2") || len(err.Error()) > 1000 {
				t.Fatalf("error: %v", err)
			}
			contains(t, err.Error(), "variable KEY", why, "volume_mounts")
			if len(d.containers) > 0 {
				t.Error("made all the same")
			}
		})
	}
}

// What an engine says of a container is as long as what the container was given.
func TestAContainerOfManyVariablesIsKnown(t *testing.T) {
	t.Parallel()
	f, d := fixture(t, "docker", image+"environment = A="+strings.Repeat("x", 100_000)+"\n", nil)
	f.Must(instance.Start)
	d.with(func() { d.containers[0].env = slices.Repeat(d.containers[0].env, 15) })
	if r := f.Resource(); r.Status != cluster.Up {
		t.Errorf("status %s: %.200s", r.Status, messages(r))
	}
	f.Must(instance.Stop)

	many := "secrets_environment =" + strings.Repeat(" KEY=db/password", 20)
	f, d = fixture(t, "docker", image+many+"\n", nil)
	f.Data = func(object.Path, string) ([]byte, error) { return bytes.Repeat([]byte("x"), 60_000), nil }
	if err := f.Do(instance.Start); err == nil {
		t.Error("more than a process can be given is given")
	} else {
		contains(t, err.Error(), "more than a process can be given")
	}
	if len(d.containers) > 0 {
		t.Error("made all the same")
	}
}

func TestAContainerMadeBySomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f, d := fixture(t, engine, image+"name = precious\n", nil)
			d.containers = []*box{{id: "1", name: "precious", status: "running", image: "31ad8ea31a05"}}
			if r := f.Resource(); r.Status != cluster.Warn {
				t.Errorf("status %s", r.Status)
			} else {
				contains(t, messages(r), "precious", "not made for this resource")
			}
			for _, a := range []instance.Action{instance.Start, instance.Stop, instance.Unprovision} {
				if err := f.Do(a); err == nil {
					t.Errorf("%s succeeded", a)
				} else {
					contains(t, err.Error(), "precious", "not made for this resource")
				}
			}
			if len(d.containers) != 1 || d.containers[0].status != "running" {
				t.Errorf("%+v", d.containers)
			}
		})
	}
}

// Only the labels tell whose a container is that was renamed, or whose resource was.
func TestAContainerOfAnotherNameIsThatOfTheResource(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f, d := fixture(t, engine, image, nil)
			f.Must(instance.Start)
			d.with(func() { d.containers[0].name = "renamed" })
			r := f.Resource()
			if r.Status != cluster.Up {
				t.Errorf("status %s", r.Status)
			}
			contains(t, messages(r), `name is "renamed", should be "test..svc.container.1"`)
			f.Must(instance.Start)
			if len(d.containers) != 1 {
				t.Errorf("a second one runs: %+v", d.containers)
			}
			f.Must(instance.Stop)
			if d.containers[0].status != "exited" {
				t.Errorf("status %s", d.containers[0].status)
			}
			d.with(func() {
				twin := *d.containers[0]
				twin.id, twin.name = "2", "twin"
				d.containers = append(d.containers, &twin)
			})
			if r := f.Resource(); r.Status != cluster.Warn {
				t.Errorf("status %s", r.Status)
			} else {
				contains(t, messages(r), "none of the 2 containers")
			}
		})
	}
}

func TestWhatIsNotKnownIsNotDown(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f, d := fixture(t, engine, image, nil)
			f.Must(instance.Start)
			d.with(func() { d.mute = true })
			r := f.Resource()
			if r.Status != cluster.Warn {
				t.Errorf("status %s of an engine that does not answer", r.Status)
			}
			contains(t, messages(r), "Cannot connect to the engine")
			for _, a := range []instance.Action{instance.Start, instance.Stop} {
				if err := f.Do(a); err == nil {
					t.Errorf("%s succeeded", a)
				}
			}
			d.with(func() { d.mute = false })
			if r := f.Resource(); r.Status != cluster.Up {
				t.Errorf("status %s", r.Status)
			}
		})
	}
}

func TestAnEngineThatIsNotInstalledIsNamed(t *testing.T) {
	t.Parallel()
	f, d := fixture(t, "podman", image, nil)
	d.with(func() { d.engine = "docker" })
	r := f.Resource()
	if r.Status != cluster.NotApplicable {
		t.Errorf("status %s", r.Status)
	}
	contains(t, messages(r), "podman is not installed on this node")
	err := f.Do(instance.Start)
	if err == nil {
		t.Fatal("started")
	}
	contains(t, err.Error(), "podman is not installed on this node", "install it")
}

func TestTheImageIsPulledAsThePolicySays(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				config string
				pulls  int
			}{
				{"image = localhost/inside:1\n", 0},
				{"image = docker.io/library/far:1\nrm = true\n", 1},
				{"image = docker.io/library/far:1\nimage_pull_policy = once\nrm = true\n", 1},
				{"image = docker.io/library/far:1\nimage_pull_policy = always\nrm = true\n", 2},
			} {
				f, d := fixture(t, engine, c.config, nil)
				f.Must(instance.Start)
				f.Must(instance.Stop)
				f.Must(instance.Start)
				if got := len(d.commands("pull")); got != c.pulls {
					t.Errorf("%q: %d pulls, want %d", c.config, got, c.pulls)
				}
			}
		})
	}
}

func TestAnImageThatIsNowhereFailsTheStartAndNamesIt(t *testing.T) {
	t.Parallel()
	f, d := fixture(t, "podman", "image = registry.example/none:1\n", nil)
	err := f.Do(instance.Start)
	if err == nil {
		t.Fatal("started")
	}
	contains(t, err.Error(), "registry.example/none:1", "can not be pulled", "connection refused")
	if len(d.containers) > 0 {
		t.Errorf("%+v", d.containers)
	}

	// A container of before is not given up for one that can not be made.
	f, d = fixture(t, "podman", image+"rm = true\n", nil)
	f.Must(instance.Start)
	d.with(func() {
		d.containers[0].status = "exited"
		d.images = map[string]string{}
	})
	if err := f.Do(instance.Start); err == nil {
		t.Error("started")
	}
	if len(d.containers) != 1 {
		t.Errorf("%+v", d.containers)
	}
}

func TestAStartThatFailsLeavesNoContainer(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f, d := fixture(t, engine, image, nil)
			d.runFails = errors.New("OCI runtime error: exec format error")
			err := f.Do(instance.Start)
			if err == nil {
				t.Fatal("started")
			}
			contains(t, err.Error(), "OCI runtime error")
			if len(d.containers) > 0 {
				t.Errorf("%+v", d.containers)
			}
		})
	}
}

func TestAContainerThatEndsAtOnceFailsTheStart(t *testing.T) {
	t.Parallel()
	f, d := fixture(t, "podman", image, nil)
	d.dies = 3
	err := f.Do(instance.Start)
	if err == nil {
		t.Fatal("started")
	}
	contains(t, err.Error(), "test..svc.container.1 ended as soon as it was started, with exit status 3", "podman logs")
	r := f.Resource()
	if r.Status != cluster.Down {
		t.Errorf("status %s", r.Status)
	}
	contains(t, messages(r), "exit status 3")
}

func TestAContainerStaysForTheNextStartUnlessItIsRemoved(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]struct{ runs, starts, left int }{"": {1, 1, 1}, "rm = true\n": {2, 0, 0}} {
		f, d := fixture(t, "podman", image+config, nil)
		f.Must(instance.Start)
		f.Must(instance.Stop)
		f.Must(instance.Start)
		f.Must(instance.Stop)
		if runs, starts := len(d.commands("run")), len(d.commands("start")); runs != want.runs || starts != want.starts || len(d.containers) != want.left {
			t.Errorf("%q: %d runs, %d starts, %d left, want %+v", config, runs, starts, len(d.containers), want)
		}
	}
}

func TestAnUnprovisionRemovesTheContainer(t *testing.T) {
	t.Parallel()
	f, d := fixture(t, "podman", image, nil)
	f.Must(instance.Start)
	f.Must(instance.Unprovision)
	if len(d.containers) > 0 {
		t.Errorf("%+v", d.containers)
	}
}

func TestDifferencesWithTheConfigurationAreTold(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f, d := fixture(t, engine, image+"command = serve\nread_only = true\n", nil)
			f.Must(instance.Start)
			d.with(func() {
				d.images["localhost/inside:1"] = "0ther"
				b := d.containers[0]
				b.cmd, b.tty, b.privileged, b.readOnly, b.network = []string{"other"}, true, true, false, "host"
			})
			r := f.Resource()
			if r.Status != cluster.Up {
				t.Errorf("status %s", r.Status)
			}
			contains(t, messages(r), "warn: image is", "warn: command is other, should be serve", "warn: tty is true", "warn: privileged is true", "warn: read_only is false", `warn: netns is "host", should be none`)
		})
	}
}

func TestAContainerBetweenTwoStatesIsAWarning(t *testing.T) {
	t.Parallel()
	f, d := fixture(t, "podman", image, nil)
	f.Must(instance.Start)
	for _, status := range []string{"paused", "restarting", "stopping", "removing", "unknown", "of a later version"} {
		d.with(func() { d.containers[0].status = status })
		if r := f.Resource(); r.Status != cluster.Warn {
			t.Errorf("%s: status %s", status, r.Status)
		} else {
			contains(t, messages(r), "the container is "+status)
		}
	}
	if err := f.Do(instance.Start); err == nil {
		t.Error("started")
	}
	d.with(func() { d.containers[0].status = "paused" })
	f.Must(instance.Stop)
	if n := len(d.commands("unpause")); n != 1 {
		t.Errorf("unpaused %d times", n)
	}
}

func TestAContainerThatDoesNotStopIsKilled(t *testing.T) {
	t.Parallel()
	f, d := fixture(t, "podman", image, nil)
	f.Must(instance.Start)
	d.with(func() { d.stubborn = true })
	f.Must(instance.Stop)
	if r := f.Resource(); r.Status != cluster.Down {
		t.Errorf("status %s", r.Status)
	}
}

func TestAStartThatWaitsFailsWithItsContainer(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f, d := fixture(t, engine, image+"detach = false\nrm = true\n", nil)
			f.Must(instance.Start)
			if r := f.Resource(); r.Status != cluster.NotApplicable {
				t.Errorf("status %s", r.Status)
			}
			if len(d.containers) > 0 {
				t.Errorf("rm leaves %+v", d.containers)
			}
			d.with(func() { d.dies = 3 })
			err := f.Do(instance.Start)
			if err == nil {
				t.Fatal("its failure is not told")
			}
			contains(t, err.Error(), engine+" run: exit status 3")
		})
	}
}

func TestANamespaceIsJoinedByTheIdentityOfTheContainer(t *testing.T) {
	t.Parallel()
	f, d := fixture(t, "podman", "image = localhost/inside:1\nnetns = container#0\npidns = container#0\n", nil)
	conf := filepath.Join(f.Host.Paths.Etc(), drivertest.Path().ConfigFile())
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, append(text, "\n[container#0]\ntype = podman\nimage = localhost/inside:1\nname = odd\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	err = f.Run(t.Context(), drivertest.Path(), instance.Request{Action: instance.Start, RID: []string{"container#1"}})
	if err == nil {
		t.Fatal("started without the other")
	}
	contains(t, err.Error(), "netns = container#0", "start it first")
	f.Must(instance.Start)
	if len(d.containers) != 2 {
		t.Fatalf("%d containers", len(d.containers))
	}
	want := "container:" + d.containers[0].id
	if b := d.containers[1]; b.network != want || b.pid != want {
		t.Errorf("network %s, pid %s, want %s", b.network, b.pid, want)
	}
	if r := f.Resource(); r.Status != cluster.Up || len(r.Log) > 0 {
		t.Errorf("status %s\n%s", r.Status, messages(r))
	}
}

func TestTheContainerIsBelowTheControlGroupOfItsResource(t *testing.T) {
	t.Parallel()
	const group = "/opensvc.slice/opensvc-svc.my-web.slice/opensvc-svc.my-web-container.1.slice"
	for _, c := range []struct{ engine, driver, want string }{
		{"podman", "", group + "/podman"}, // podman takes no slice when it makes groups itself
		{"docker", "cgroupfs", group},
		{"docker", "systemd", "opensvc-svc.my-web-container.1.slice"}, // docker takes no path then
	} {
		d := newDouble(c.engine)
		d.driver = c.driver
		dr := spec(c.engine).New(resource.Env{Host: host.Host{Runner: d}, RID: "container#1", Cgroup: group, Path: drivertest.Path()})
		k := resource.Table(&resource.Common{}, dr)
		if err := k.Find("image").Convert("localhost/inside:1", keywordContext()); err != nil {
			t.Fatal(err)
		}
		if err := k.Find("detach").Convert("true", keywordContext()); err != nil {
			t.Fatal(err)
		}
		starter, ok := dr.(resource.Starter)
		if !ok {
			t.Fatal("it does not start")
		}
		if err := starter.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := d.containers[0].cgroupParent; got != c.want {
			t.Errorf("%s %s: below %q, want %q", c.engine, c.driver, got, c.want)
		}
		if forced := slices.Contains(d.commands("run")[0], "--cgroup-manager"); forced != (c.engine == "podman") {
			t.Errorf("%s: the manager of groups is chosen: %v", c.engine, forced)
		}
	}
}

func TestTheEngineOfTypeOCI(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	if err := os.WriteFile(filepath.Join(here, "docker"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, set, want string }{
		{here, "", "docker"}, {t.TempDir(), "", "podman"}, {here, "podman", "podman"}, {t.TempDir(), "docker", "docker"},
	} {
		d := newDouble(c.want)
		f := drivertest.New(t, drivertest.Case{Spec: container.OCI, Config: image, Double: func() host.Runner { return d }}, nil)
		f.Environ = []string{"PATH=" + c.path}
		if c.set != "" {
			conf := filepath.Join(f.Host.Paths.Etc(), "node.conf")
			if err := os.WriteFile(conf, []byte("[node]\noci = "+c.set+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f.Must(instance.Start)
		if len(d.containers) != 1 {
			t.Errorf("%+v: not started by %s", c, c.want)
		}
	}
}
