package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Authority implements daemon.Certifier.
func (b *Backend) Authority(context.Context) ([]byte, error) {
	ca := object.Path{Namespace: object.SystemNamespace, Kind: object.KindSec, Name: "ca"}
	pem, err := datastore.New(b.store()).Decode(ca, "certificate")
	if _, missing := errors.AsType[*object.NotFoundError](err); missing {
		return nil, fmt.Errorf("%w: the first start of the daemon makes it: om daemon start", err)
	}
	return pem, err
}
