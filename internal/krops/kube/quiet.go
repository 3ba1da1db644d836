package kube

import (
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Quiet keeps the libraries of Kubernetes from writing to stderr by themselves.
// It is called once, before the first cluster is opened: their logger is one for
// the process.
func Quiet() { klog.SetLogger(logr.Discard()) }
