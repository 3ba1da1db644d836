package renewal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Publisher makes the answers to challenges readable by a directory, by token.
type Publisher interface {
	Publish(ctx context.Context, answers map[string]string) (withdraw func(context.Context) error, err error)
}

// where is the publisher that the configuration asks for.
func (r *Renewer) where(p object.Path, d Description) (Publisher, error) {
	switch presented := slices.Contains(d.Site.Presented, p); {
	case d.ACME.Webroot != "":
		return Webroot{Root: d.ACME.Webroot}, nil
	case presented && d.Site.ACMEPort == 0:
		return nil, errors.New("listener.tls_secs names the object, but no listener answers challenges: set listener.acme_port, 80 for most directories")
	case presented && r.Nodes == nil:
		return nil, errors.New("the listeners cannot be asked from here")
	case presented:
		return listeners{objects: r.Objects, nodes: r.Nodes, path: p, site: d.Site}, nil
	}
	return nil, errors.New("nothing answers the challenges of the directory: give the folder that the web server of the name serves, by --webroot or acme.webroot; " +
		"or renew from a task.acme of its service; or list the object in listener.tls_secs of the cluster")
}

// Webroot publishes answers as files that a web server reads.
type Webroot struct {
	Root string // nothing is ever written outside
	Dir  string // the folder the server serves, below Root
}

// Publish implements [Publisher]. Links that lead out of the root are refused.
func (w Webroot) Publish(ctx context.Context, answers map[string]string) (withdraw func(context.Context) error, err error) {
	if !filepath.IsAbs(w.Root) {
		return nil, fmt.Errorf("webroot %s: write an absolute path", w.Root)
	}
	root, err := os.OpenRoot(w.Root)
	if err != nil {
		return nil, fmt.Errorf("webroot: %w", err)
	}
	var written []string
	remove := func(context.Context) error {
		var failed error
		for _, name := range written {
			if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
		return errors.Join(failed, root.Close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("webroot %s: %w", filepath.Join(w.Root, w.Dir), err), remove(ctx))
		}
	}()
	dir := strings.Trim(path.Join("/", w.Dir, certificate.ChallengePath), "/")
	if err := makeFolders(root, dir); err != nil {
		return nil, err
	}
	for token, answer := range answers {
		name := path.Join(dir, token)
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		written = append(written, name)
		if err := writeNew(root, name, answer); err != nil {
			return nil, err
		}
	}
	return remove, nil
}

// Modes that let any server read, whatever the umask.
const (
	folderMode = 0o755
	fileMode   = 0o644
)

func makeFolders(root *os.Root, dir string) error {
	made := ""
	for part := range strings.SplitSeq(dir, "/") {
		made = path.Join(made, part)
		err := root.Mkdir(made, folderMode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = root.Chmod(made, folderMode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeNew(root *os.Root, name, text string) (err error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Chmod(fileMode); err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return err
}

// Asker reads what a node answers to a challenge, at host:port.
type Asker interface {
	Answer(ctx context.Context, address, token string) (string, error)
}

// listeners publishes answers through the listeners of the nodes: it writes them
// in the object, and waits for each node to give them.
type listeners struct {
	objects Objects
	nodes   Asker
	path    object.Path
	site    Site
}

const (
	replicateTimeout = time.Minute
	askInterval      = 100 * time.Millisecond
)

// Publish implements [Publisher].
func (l listeners) Publish(ctx context.Context, answers map[string]string) (func(context.Context) error, error) {
	text, err := json.Marshal(answers)
	if err != nil {
		return nil, err
	}
	withdraw := func(ctx context.Context) error {
		return l.objects.Write(ctx, l.path, map[string][]byte{KeyChallenge: nil})
	}
	if err := l.objects.Write(ctx, l.path, map[string][]byte{KeyChallenge: text}); err != nil {
		return nil, err
	}
	if err := l.wait(ctx, answers); err != nil {
		return nil, errors.Join(err, withdraw(context.WithoutCancel(ctx)))
	}
	return withdraw, nil
}

// wait lasts until every node answers: the name may lead to any of them.
func (l listeners) wait(ctx context.Context, answers map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, replicateTimeout)
	defer cancel()
	for _, node := range l.site.Nodes {
		address := net.JoinHostPort(l.host(node), strconv.Itoa(l.site.ACMEPort))
		for token, want := range answers {
			var last error
			err := retry.Until(ctx, retry.Policy{Interval: askInterval, Max: 2 * time.Second}, func(ctx context.Context) (bool, error) {
				got, err := l.nodes.Answer(ctx, address, token)
				if err == nil && got != want {
					err = errors.New("it gives another answer")
				}
				if err != nil && ctx.Err() == nil {
					last = err
				}
				return err == nil, nil
			})
			if err != nil {
				return fmt.Errorf("node %s does not answer the challenge on port %d, listener.acme_port: %w", node, l.site.ACMEPort, errors.Join(last, err))
			}
		}
	}
	return nil
}

func (l listeners) host(node string) string {
	if node != l.site.Node {
		return node
	}
	if l.site.Addr != "" {
		return l.site.Addr
	}
	return "127.0.0.1"
}

// Challenges reads what a sec tells the listeners to answer, by token.
func Challenges(value []byte) map[string]string {
	var answers map[string]string
	if json.Unmarshal(value, &answers) != nil {
		return nil
	}
	return answers
}
