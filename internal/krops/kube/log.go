package kube

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Log returns what a container writes: what it wrote since, then what it will
// write, until ctx ends or the container does.
func (c *Cluster) Log(ctx context.Context, namespace, pod, container string, since time.Duration) (io.ReadCloser, error) {
	log, err := c.rest.Get().AbsPath("/api/v1/namespaces", namespace, "pods", pod, "log").
		Param("container", container).Param("follow", "true").Param("sinceSeconds", strconv.Itoa(int(since.Seconds()))).
		MaxRetries(again).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of pod %s: %w", slashed(namespace, pod), err)
	}
	return log, nil
}
