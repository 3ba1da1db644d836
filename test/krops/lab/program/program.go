// Package program is krops-bootstrap as the lab runs it: all of it, with the
// clusters of the lab for those of kind, and able to kill itself.
package program

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

// Main runs the program and exits.
func Main() {
	program.Main("krops-bootstrap", func(p program.Process, signals func() context.Context) int {
		p.Version = "lab"
		o := krops.Overrides{Sink: newWatcher()}
		o.Site = func(s *site.Options) {
			if socket := os.Getenv(lab.KindEnv); socket != "" {
				s.Kinds = lab.Kinds{Socket: socket}
			}
			if address := os.Getenv(lab.AWSEnv); address != "" {
				s.AWS = double(address)
			}
		}
		return krops.RunWith(signals(), p, o)
	})
}

// double is how a double of AWS is reached, which takes no time for what it does.
func double(address string) sweep.Options {
	quick := sweep.Budget{Within: 10 * time.Second, Every: 10 * time.Millisecond}
	return sweep.Options{
		Backoff: 10 * time.Millisecond,
		Budgets: sweep.Budgets{NodeGroup: quick, Cluster: quick, Database: quick, VPC: quick, Address: quick, Stack: quick, Identity: quick},
		Load: []func(*awsconfig.LoadOptions) error{
			awsconfig.WithBaseEndpoint(address), awsconfig.WithSharedConfigFiles([]string{}), awsconfig.WithSharedCredentialsFiles([]string{}),
			awsconfig.WithEC2IMDSClientEnableState(imds.ClientDisabled),
			awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKIA", "secret", "token")),
		},
	}
}

// watcher writes the events of a run down, and kills the process at one of them:
// one of a step that is no check.
type watcher struct {
	mu    sync.Mutex
	file  *os.File
	event string // at which the process dies
	step  string
	left  int // events until then
}

func newWatcher() *watcher {
	w := &watcher{}
	if name := os.Getenv(lab.EventsEnv); name != "" {
		file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			panic(err)
		}
		w.file = file
	}
	var at string
	w.event, at, _ = strings.Cut(os.Getenv(lab.DieEnv), ":")
	if n, err := strconv.Atoi(at); err == nil {
		w.left = n
	} else {
		w.step = at
	}
	return w
}

// Event implements [run.Sink].
func (w *watcher) Event(e run.Event) {
	if e.Name == run.Progress || e.Step.ID == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		_, _ = fmt.Fprintf(w.file, "%s %s\n", e.Name, e.Step.ID) // the test misses it
	}
	// A check holds for its run only: whoever died there would not get further.
	if string(e.Name) != w.event || w.step == "" && (e.Step.Kind == plan.Check || e.Step.EachRun) {
		return
	}
	if w.left--; w.left == 0 || e.Step.ID == w.step {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // there is no way to fail
		select {}
	}
}
