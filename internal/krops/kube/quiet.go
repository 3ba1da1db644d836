package kube

import (
	"io"
	"log"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Quiet keeps the libraries of Kubernetes and of Helm from writing to stderr by
// themselves. It is called once, before the first cluster is opened: their loggers
// are those of the process.
func Quiet() {
	klog.SetLogger(logr.Discard())
	log.SetOutput(io.Discard) // that of slog, too, as long as nobody sets another
}
