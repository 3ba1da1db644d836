package httpd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret/password"
)

// data gives access to the keys of the objects.
func (s *Server) data() *datastore.Data { return datastore.New(s.o.Store) }

func (s *Server) getObjectData(ctx context.Context, in *api.DataQuery) (api.DataKeys, error) {
	p, err := keysPath(ctx, in.ObjectName)
	if err != nil {
		return nil, err
	}
	values, err := s.data().DecodeAll(p, in.Keys)
	if err != nil {
		return nil, dataProblem(err)
	}
	keys := make(api.DataKeys, len(values))
	for i, v := range values {
		keys[i] = api.DataKey{Name: v.Name, Bytes: v.Value}
	}
	return keys, nil
}

func (s *Server) patchObjectData(ctx context.Context, in *api.DataPatch) (api.None, error) {
	p, err := path(in.ObjectName)
	if err != nil {
		return api.None{}, err
	}
	ops, err := operations(in.Body)
	if err != nil {
		return api.None{}, badRequest(err)
	}
	_, err = s.data().Apply(ctx, p, ops)
	// What the changes find is not what they expect: the object itself is there.
	if _, ok := errors.AsType[*datastore.KeyNotFoundError](err); ok {
		return api.None{}, noKey(http.StatusConflict, err)
	}
	return s.keysWritten(p, err)
}

// operations reads changes. What they say is checked when they are made.
func operations(changes api.PatchDataKeys) ([]datastore.Op, error) {
	if len(changes) == 0 {
		return nil, errors.New("body: no change: give an array of them")
	}
	ops := make([]datastore.Op, len(changes))
	for i, c := range changes {
		ops[i] = datastore.Op{Action: datastore.Action(c.Action), Name: c.Name, To: c.To}
		hasValue := ops[i].Action == datastore.Add || ops[i].Action == datastore.Change
		refuse := func(reason string) error { return fmt.Errorf("body[%d]: %s %s: %s", i, c.Action, c.Name, reason) }
		switch {
		case c.String != nil && c.Bytes != nil:
			return nil, refuse("give string or bytes, not both")
		case hasValue && c.String == nil && c.Bytes == nil:
			return nil, refuse("no value: give string, or bytes in base64")
		case !hasValue && (c.String != nil || c.Bytes != nil):
			return nil, refuse("it takes no value")
		case (ops[i].Action == datastore.Rename) != (c.To != ""):
			return nil, refuse("a rename, and nothing else, has a new name in to")
		case c.String != nil:
			ops[i].Value = []byte(*c.String)
		case c.Bytes != nil:
			ops[i].Value = *c.Bytes
		}
	}
	return ops, nil
}

func (s *Server) getObjectDataKey(ctx context.Context, in *api.DataKeyName) (api.DataKeyContent, error) {
	p, err := keysPath(ctx, in.ObjectName)
	if err != nil {
		return api.DataKeyContent{}, err
	}
	value, err := s.data().Decode(p, in.Key)
	if err != nil {
		return api.DataKeyContent{}, dataProblem(err)
	}
	return api.DataKeyContent{ETag: valueTag(value), RawBody: value}, nil
}

func (s *Server) postObjectDataKey(ctx context.Context, in *api.DataKeyValue) (api.None, error) {
	p, err := path(in.ObjectName)
	if err != nil {
		return api.None{}, err
	}
	return s.keysWritten(p, s.data().Add(ctx, p, in.Key, in.RawBody))
}

func (s *Server) putObjectDataKey(ctx context.Context, in *api.DataKeyChange) (api.None, error) {
	p, err := path(in.ObjectName)
	if err != nil {
		return api.None{}, err
	}
	_, err = s.data().Modify(ctx, p, func(tx *datastore.Tx) error {
		if in.IfMatch != "" && tx.Has(in.Key) {
			value, err := tx.Decode(in.Key)
			if err != nil {
				return err
			}
			if tag := valueTag(value); !matchesList(in.IfMatch, func(word string) bool { return word == "*" || word == tag }) {
				return api.NewProblem(http.StatusPreconditionFailed, fmt.Sprintf("%s: key %s has another value: its entity tag is %s: read it again", p, in.Key, tag))
			}
		}
		return tx.Change(in.Key, in.RawBody)
	})
	return s.keysWritten(p, err)
}

func (s *Server) deleteObjectDataKey(ctx context.Context, in *api.DataKeyName) (api.None, error) {
	p, err := path(in.ObjectName)
	if err != nil {
		return api.None{}, err
	}
	return s.keysWritten(p, s.data().Remove(ctx, p, in.Key))
}

func (s *Server) getObjectDataKeys(_ context.Context, in *api.ObjectName) (api.DataKeyList, error) {
	p, err := path(*in)
	if err != nil {
		return api.DataKeyList{}, err
	}
	infos, err := s.data().List(p)
	if err != nil {
		return api.DataKeyList{}, dataProblem(err)
	}
	list := api.DataKeyList{Kind: "DataKeyList", Items: make([]api.DataKeyListItem, len(infos))}
	for i, info := range infos {
		list.Items[i] = api.DataKeyListItem{Node: s.o.Node, Object: p.String(), Name: info.Name, Size: info.Size}
	}
	return list, nil
}

// keysPath is path, for operations that give values: reading those of an object
// asks what reading its configuration does.
func keysPath(ctx context.Context, n api.ObjectName) (object.Path, error) {
	p, err := path(n)
	if err == nil && !mayReadConfig(principal(ctx).Caller(), p) {
		err = api.NewProblem(http.StatusForbidden, "the keys of "+p.String()+": "+configNeed(p).Refusal(p.Namespace))
	}
	return p, err
}

// valueTag identifies the value of a key, to those who may read it.
func valueTag(value []byte) string {
	sum := sha256.Sum256(value)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// keysWritten has the daemon read what was committed.
func (s *Server) keysWritten(p object.Path, err error) (api.None, error) {
	if err != nil {
		return api.None{}, dataProblem(err)
	}
	s.refresh(p)
	return api.None{}, nil
}

// dataProblem is the refusal of an operation on keys.
func dataProblem(err error) error {
	var (
		missing *datastore.KeyNotFoundError
		exists  *datastore.KeyExistsError
		size    *datastore.KeySizeError
		refused *datastore.RefusedError
		name    *datastore.KeyNameError
		noKeys  *datastore.NoKeysError
		hidden  *datastore.PasswordError
	)
	switch {
	case errors.As(err, &missing):
		return noKey(http.StatusNotFound, err)
	case errors.As(err, &exists):
		return api.NewProblem(http.StatusConflict, err.Error())
	case errors.As(err, &size), errors.As(err, &refused):
		return api.NewProblem(http.StatusRequestEntityTooLarge, err.Error())
	case errors.As(err, &hidden):
		return api.NewProblem(http.StatusForbidden, err.Error())
	case errors.As(err, &name), errors.As(err, &noKeys), errors.Is(err, password.ErrEmpty):
		return badRequest(err)
	}
	return err
}

// noKey is the refusal of what is about a key that does not exist.
func noKey(status int, err error) *api.Problem {
	p := api.NewProblem(status, err.Error())
	p.Type = api.TypeNoKey
	return p
}
