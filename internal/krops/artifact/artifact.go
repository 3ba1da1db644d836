// Package artifact makes the artifact that Flux reads on a host without a Git
// server: directories of a checkout, as an image in a registry.
//
// The same content makes the same digest, wherever and whenever it is built:
// names in order, no times, no owners, no modes. So an artifact is compared by its
// digest, and publishing what is there already changes nothing.
package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The media types Flux knows.
const (
	configType = "application/vnd.cncf.flux.config.v1+json"
	layerType  = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// created is when every artifact was made: a real time would make each another.
const created = "1970-01-01T00:00:00Z"

// A Source is what an artifact is made of.
type Source struct {
	Root        string   // absolute path of the repository
	Directories []string // what is packed, relative to the root, slashes between names
	Given       Meta     // when it is not empty, it is used instead of asking Git
}

// An Artifact is ready to be pushed.
type Artifact struct {
	Meta
	Files   int      // how many are in it
	Changed []string // names that are not as the commit has them

	config, layer, manifest blob
}

// blob is a piece of an artifact as a registry keeps it.
type blob struct {
	ocispec.Descriptor

	data []byte
}

func newBlob(mediaType string, data []byte) blob {
	return blob{ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, data}
}

// Build reads a checkout and packs it.
func Build(s Source) (*Artifact, error) {
	checkout, err := open(s.Root)
	meta := s.Given
	switch {
	case meta != (Meta{}):
		if err := meta.check(); err != nil {
			return nil, err
		}
		meta.Source = withoutPassword(meta.Source)
	case err != nil:
		return nil, fmt.Errorf("find the commit of %s: %w; %s", s.Root, err, giveAll)
	default:
		meta = checkout.Meta
	}
	files, err := read(s.Root, s.Directories)
	if err != nil {
		return nil, err
	}
	a := &Artifact{Meta: meta, Files: len(files)}
	if checkout != nil && checkout.SHA == meta.SHA {
		a.Changed = checkout.changed(s.Directories, files)
	}
	layer, err := pack(s.Directories, files)
	if err != nil {
		return nil, err
	}
	a.config, a.layer = newBlob(configType, []byte("{}")), newBlob(layerType, layer)
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest,
		Config:    a.config.Descriptor,
		Layers:    []ocispec.Descriptor{a.layer.Descriptor},
		Annotations: map[string]string{
			ocispec.AnnotationCreated: created, ocispec.AnnotationSource: meta.Source, ocispec.AnnotationRevision: meta.Revision(),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("write the manifest of the artifact: %w", err)
	}
	a.manifest = newBlob(ocispec.MediaTypeImageManifest, manifest)
	return a, nil
}

// Digest names the artifact by its content.
func (a *Artifact) Digest() string { return a.manifest.Digest.String() }

// Manifest is what the digest is of.
func (a *Artifact) Manifest() []byte { return a.manifest.data }

// Layer is the packed content.
func (a *Artifact) Layer() []byte { return a.layer.data }

// pack makes the archive. A directory is in it when it holds a file, as in Git;
// those asked for always are.
func pack(directories []string, files []file) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	made := map[string]bool{".": true}
	directory := func(name string) error {
		var missing []string
		for ; !made[name]; name = path.Dir(name) {
			made[name] = true
			missing = append([]string{name}, missing...)
		}
		for _, name := range missing {
			if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755}); err != nil {
				return fmt.Errorf("pack %s: %w", name, err)
			}
		}
		return nil
	}
	add := func(f file) error {
		if err := directory(path.Dir(f.name)); err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: 0o644, Size: int64(len(f.data))}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("pack %s: %w", f.name, err)
		}
		_, err := archive.Write(f.data)
		return err
	}
	var wrong error
	for _, name := range directories {
		wrong = errors.Join(wrong, directory(name))
	}
	for _, f := range files {
		wrong = errors.Join(wrong, add(f))
	}
	if err := errors.Join(wrong, archive.Close(), zipped.Close()); err != nil {
		return nil, fmt.Errorf("pack the artifact: %w", err)
	}
	return packed.Bytes(), nil
}

// Directories are what the artifact of an environment holds: what Flux applies to
// the management cluster, and the same below workload for its workload clusters.
func Directories(syncPath string) ([]string, error) {
	name := path.Clean(syncPath)
	if name == "." || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return nil, fmt.Errorf("sync-path %q: an artifact is made of a directory below the root of the repository", syncPath)
	}
	if rest, ok := strings.CutPrefix(name, "mgmt/"); ok {
		return []string{name, "workload/" + rest}, nil
	}
	return []string{name}, nil
}
