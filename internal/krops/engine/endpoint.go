package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

func (o Options) env(name string) string {
	value, _ := o.Env(name)
	return value
}

// at is a well-known path.
func (o Options) at(path string) string { return filepath.Join("/", o.Root, path) }

// dockers is where docker may listen, found as its command line does: DOCKER_HOST,
// then the context, then the usual socket.
func (o Options) dockers() ([]endpoint, error) {
	if host := o.env("DOCKER_HOST"); host != "" {
		p := endpoint{host: host, from: "DOCKER_HOST"}
		if dir := o.env("DOCKER_CERT_PATH"); dir != "" && p.socket() == "" {
			p.tls = certificates(dir)
			p.tls.unverified = o.env("DOCKER_TLS_VERIFY") == ""
		}
		return []endpoint{p}, nil
	}
	p, err := o.dockerContext()
	if err != nil {
		return nil, err
	}
	if p.host == "" {
		p = endpoint{host: "unix://" + o.at(dockerDefault), from: "the usual socket of docker"}
	}
	return []endpoint{p}, nil
}

func certificates(dir string) *tlsFiles {
	return &tlsFiles{ca: filepath.Join(dir, "ca.pem"), cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
}

// dockerContext is the endpoint of the context that docker uses; it has no host when
// that is the default one.
func (o Options) dockerContext() (endpoint, error) {
	dir := o.env("DOCKER_CONFIG")
	if dir == "" {
		home := o.env("HOME")
		if home == "" {
			return endpoint{}, nil
		}
		dir = filepath.Join(home, ".docker")
	}
	name, from := o.env("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
	if name == "" {
		file := filepath.Join(dir, "config.json")
		var config struct {
			CurrentContext string `json:"currentContext"`
		}
		err := readJSON(file, &config)
		if errors.Is(err, fs.ErrNotExist) {
			return endpoint{}, nil
		}
		if err != nil {
			return endpoint{}, err
		}
		name, from = config.CurrentContext, file
	}
	if name == "" || name == "default" {
		return endpoint{}, nil
	}
	return contextNamed(dir, name, from)
}

// contextNamed reads a context. Its directory is the hash of its name.
func contextNamed(dir, name, from string) (endpoint, error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	err := readJSON(filepath.Join(dir, "contexts", "meta", id, "meta.json"), &meta)
	if errors.Is(err, fs.ErrNotExist) {
		return endpoint{}, fmt.Errorf("%s names the docker context %q, which does not exist", from, name)
	}
	if err != nil {
		return endpoint{}, err
	}
	at := meta.Endpoints["docker"]
	if at.Host == "" {
		return endpoint{}, fmt.Errorf("the docker context %q, which %s names, has no host", name, from)
	}
	p := endpoint{host: at.Host, from: "the docker context " + name}
	files := filepath.Join(dir, "contexts", "tls", id, "docker")
	if _, err := os.Stat(files); err == nil {
		p.tls = certificates(files)
		p.tls.unverified = at.SkipTLSVerify
	}
	return p, nil
}

// podmans is where podman may listen: CONTAINER_HOST, then the socket of the user,
// which is that of the system for root, then that of a machine.
func (o Options) podmans() ([]endpoint, error) {
	if o.ContainerHost != "" {
		return []endpoint{{host: o.ContainerHost, from: "CONTAINER_HOST"}}, nil
	}
	if o.UID == 0 {
		return []endpoint{{host: "unix://" + o.at(podmanDefault), from: "the socket of podman"}}, nil
	}
	dir, from := o.env("XDG_RUNTIME_DIR"), "XDG_RUNTIME_DIR"
	if dir == "" {
		dir, from = o.at("/run/user/"+strconv.Itoa(o.UID)), "the socket of podman for this user"
	}
	found := []endpoint{{host: "unix://" + filepath.Join(dir, "podman", "podman.sock"), from: from}}
	if home := o.env("HOME"); home != "" {
		machine := filepath.Join(home, ".local", "share", "containers", "podman", "machine", "podman.sock")
		if _, err := os.Stat(machine); err == nil {
			found = append(found, endpoint{host: "unix://" + machine, from: "the socket of podman machine"})
		}
	}
	return found, nil
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}
