package container_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/driver/container"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

func keywordContext() keyword.Context { return keyword.Context{} }

func TestValuesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keyword string
		good    []string
		bad     map[string]string // value, word of the refusal
	}{
		{
			"image",
			[]string{"nginx", "docker.io/library/nginx:1.29", "localhost:5000/a/b-c:x", "ghcr.io/opensvc/pause", "a@sha256:" + strings.Repeat("0a", 32), strings.Repeat("0a", 32)},
			map[string]string{"--privileged": "no name of an image", "oci-archive:/root/x": "no name of an image", "docker://nginx": "no name", "a b": "no name", "dir:/etc": "no name", "../x": "no name"},
		},
		{
			"volume_mounts",
			[]string{"/run/opensvc-ux:/run/opensvc-ux:ro", "/a:/b /c:/d:rw,z", "/:/host"},
			map[string]string{"data/www:/srv": "would be a volume", "volume#1/x:/y": "would be a volume", "/a": "is not", "/a/../b:/c": "write the directory", "/a:b": "is not", "/a:/b:ro=1": "list of options", "/a:/b:ro:z": "is not"},
		},
		{
			"netns",
			[]string{"", "host", "none", "container#0"},
			map[string]string{"bridge": "no namespace this version joins", "ns:/proc/1/ns/net": "no namespace", "container:x": "no namespace"},
		},
		{"pidns", []string{"host", "container#0"}, map[string]string{"none": "no namespace"}},
		{"name", []string{"shop", "a..b.c-1_2"}, map[string]string{"--rm": "no name", "a b": "no name", "a/b": "no name"}},
		{
			"run_args",
			[]string{"--shm-size 1g", "-v /a:/b", "--label a=b", ""},
			map[string]string{
				"--cgroup-parent=/": "control group", "--cgroup-manager systemd": "control group", "--root /x": "elsewhere", "other:1 sh": "no option", "--cgroups disabled": "control group", "--pod x": "control group",
				"--label com.opensvc.rid=container#2": "labels", "--label=com.opensvc.path=x": "labels", "-- other": "no option", `"`: "",
			},
		},
		{"uxgrant", []string{"root", "operator:ns1 guest", "Root"}, map[string]string{"king": "king"}},
		{"image_pull_policy", []string{"once", "always", ""}, map[string]string{"never": ""}},
		{"environment", []string{`A=1 "B=2 3"`}, map[string]string{"A": "VAR=value"}},
	} {
		k := resource.Table(&resource.Common{}, container.Podman.New(resource.Env{})).Find(c.keyword)
		for _, value := range c.good {
			if err := k.Convert(value, keyword.Context{}); err != nil {
				t.Errorf("%s = %s: %v", c.keyword, value, err)
			}
		}
		for value, word := range c.bad {
			if err := k.Convert(value, keyword.Context{}); err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s = %s: %v", c.keyword, value, err)
			}
		}
	}
}

// Whatever the words are, the container gets these, and no word of the configuration
// becomes an option of the engine.
func TestWordsReachTheContainerAsTheyAre(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(rapid.StringOf(rapid.RuneFrom([]rune(`-="' $\;|&#{}a`))), rapid.SampledFrom([]string{"--privileged", "--", "-v", "/:/host", "--name", "x"}))
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(word, 0, 4)
		command := words.Draw(t, "command")
		entrypoint := words.Draw(t, "entrypoint")
		var environment []string
		for _, w := range words.Draw(t, "environment") {
			environment = append(environment, "V="+w)
		}
		engine := rapid.SampledFrom([]string{"podman", "docker"}).Draw(t, "engine")
		d := newDouble(engine)
		dr := spec(engine).New(resource.Env{Host: host.Host{Runner: d}, RID: "container#1", Path: drivertest.Path()})
		k := resource.Table(&resource.Common{}, dr)
		for name, value := range map[string]string{
			"image": "localhost/inside:1", "detach": "true", "command": host.Quote(command), "entrypoint": host.Quote(entrypoint), "environment": host.Quote(environment),
		} {
			if err := k.Find(name).Convert(value, keyword.Context{}); err != nil {
				t.Fatalf("%s = %s: %v", name, value, err)
			}
		}
		starter, ok := dr.(resource.Starter)
		if !ok {
			t.Fatal("it does not start")
		}
		if err := starter.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := d.containers[0]
		if diff := cmp.Diff(append(entrypoint, command...), append(b.entrypoint, b.cmd...), cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(append([]string{}, environment...), append([]string{}, b.env[5:]...)); diff != "" {
			t.Error(diff)
		}
		if b.name != "test..svc.container.1" || b.privileged || len(b.labels) != 6 {
			t.Errorf("%+v", b)
		}
	})
}
