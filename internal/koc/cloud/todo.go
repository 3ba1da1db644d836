package cloud

import (
	"context"
	"errors"
)

// Cloud is a session.
type Cloud struct{}

var errTodo = errors.New("not written yet")

// Service finds an endpoint by its type ("compute", "network", "volume", "image", "identity", "placement", ...), authenticating first.
func (c *Cloud) Service(ctx context.Context, typ string) (Service, error) { return Service{}, errTodo }

func (s Service) do(context.Context, Request) error                { return errTodo }
func (s Service) open(context.Context, Request) (*Response, error) { return nil, errTodo }
