package remote

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/renewal"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// renewer makes certificates here, and gives them to objects of the cluster. It
// asks no ACME directory: the nodes do.
func (b *Backend) renewer() *renewal.Renewer {
	return &renewal.Renewer{Objects: objects{b}, Random: rand.Reader, Now: time.Now}
}

// CreateCertificate implements certificate.Maker.
func (b *Backend) CreateCertificate(ctx context.Context, p object.Path) error {
	_, err := b.renewer().Create(ctx, p)
	return err
}

// RequestCertificate implements certificate.Maker.
func (b *Backend) RequestCertificate(ctx context.Context, p object.Path) ([]byte, error) {
	return b.renewer().SigningRequest(ctx, p)
}

// ExportCertificate implements certificate.Maker.
func (b *Backend) ExportCertificate(ctx context.Context, p object.Path, password secret.String) ([]byte, error) {
	return b.renewer().PKCS12(ctx, p, password.Reveal())
}

// objects are those of the cluster, through its API. The grants of the user
// decide which it reads and writes.
type objects struct{ *Backend }

// Describe implements [renewal.Objects].
func (o objects) Describe(ctx context.Context, p object.Path) (renewal.Description, error) {
	d := renewal.Description{Site: renewal.Site{Authorities: []object.Path{{Namespace: object.SystemNamespace, Kind: object.KindSec, Name: "ca"}}}}
	values, err := o.values(ctx, p)
	if err != nil {
		return d, err
	}
	s := schema.CertificateSettings{
		CommonName: values["cn"], AltNames: strings.Fields(values["alt_names"]), CA: values["ca"], Country: values["c"], State: values["st"], Locality: values["l"],
		Organization: values["o"], Unit: values["ou"], Email: values["email"],
	}
	if text := values["bits"]; text != "" {
		if s.Bits, err = config.ParseSize(text); err != nil {
			return d, fmt.Errorf("bits: %w", err)
		}
	}
	if s.Validity, err = config.ParseDuration(cmp.Or(values["validity"], schema.CertificateValidity)); err != nil {
		return d, fmt.Errorf("validity: %w", err)
	}
	d.Certificate = s
	d.Share = strings.Fields(cmp.Or(values["share"], p.Namespace))
	if list, err := o.ConfigValues(ctx, object.Cluster(), api.ConfigQuery{Keywords: []string{"cluster.ca"}, Evaluate: true}); err == nil && len(list) == 1 {
		var authorities []object.Path
		for name := range strings.FieldsSeq(fmt.Sprint(list[0].Evaluated)) {
			if ca, err := certificate.Sec(name, object.SystemNamespace); err == nil {
				authorities = append(authorities, ca)
			}
		}
		if len(authorities) > 0 {
			d.Site.Authorities = authorities
		}
	}
	return d, nil
}

// values are the evaluated keywords of the DEFAULT section.
func (o objects) values(ctx context.Context, p object.Path) (map[string]string, error) {
	list, err := o.ConfigValues(ctx, p, api.ConfigQuery{Evaluate: true})
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, item := range list {
		values[strings.TrimPrefix(item.Keyword, config.DefaultSection+".")] = fmt.Sprint(item.Evaluated)
	}
	return values, nil
}

// Read implements [renewal.Objects].
func (o objects) Read(ctx context.Context, p object.Path, keys ...string) (map[string][]byte, error) {
	there, err := o.names(ctx, p)
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(name string) bool { return !there[name] })
	values := map[string][]byte{}
	if len(keys) == 0 {
		return values, nil
	}
	found, err := do(ctx, o.Backend, api.GetObjectData, api.DataQuery{ObjectName: api.Named(p), Keys: keys})
	for _, k := range found {
		values[k.Name] = k.Bytes
	}
	return values, err
}

// Write implements [renewal.Objects].
func (o objects) Write(ctx context.Context, p object.Path, values map[string][]byte) error {
	there, err := o.names(ctx, p)
	if err != nil {
		return err
	}
	var changes api.PatchDataKeys
	for _, name := range slices.Sorted(maps.Keys(values)) {
		change := api.PatchDataKey{Name: name, Action: "add"}
		switch value := values[name]; {
		case value == nil && !there[name]:
			continue
		case value == nil:
			change.Action = "remove"
		default:
			if there[name] {
				change.Action = "change"
			}
			change.Bytes = &value
		}
		changes = append(changes, change)
	}
	if len(changes) == 0 {
		return nil
	}
	return o.ChangeKeys(ctx, p, changes, 0)
}

func (o objects) names(ctx context.Context, p object.Path) (map[string]bool, error) {
	list, err := o.ListKeys(ctx, p)
	names := map[string]bool{}
	for _, k := range list {
		names[k.Name] = true
	}
	return names, err
}
