package daemon

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Certifier has the certificates of the authority of the cluster.
type Certifier interface {
	Authority(ctx context.Context) ([]byte, error)
}

// Authority declares the command that gives clients what to trust.
var Authority = verb.Verb{
	Path: "auth ca", Group: "query",
	Short:   "Print the certificate of the authority of the cluster",
	Long:    "Print the certificate of the authority of the cluster, that clients of the listener trust. It is no secret.",
	Example: "om daemon auth ca > ca.pem",
	New: verb.Does(func(ctx context.Context, authority Certifier, c *verb.Call) error {
		pem, err := authority.Authority(ctx)
		if err != nil {
			return err
		}
		_, err = c.Streams.Out.Write(pem)
		return err
	}),
}
