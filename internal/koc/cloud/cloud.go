// Package cloud is the session of koc with an OpenStack cloud: where the
// credentials come from, the token, the catalogue, and requests to its services.
//
// [New] does nothing on the network. The first [Cloud.Service] authenticates.
package cloud

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

// Service is an endpoint of the catalogue, with what its requests have in common.
// It is a value: methods that change it return a changed copy.
type Service struct {
	Type     string // "network"
	Endpoint string // with the version, without a slash at the end: http://h:9696/v2.0
	// Microversion is sent with each request, "" for none.
	Microversion string

	cloud  *Cloud
	pinned bool   // the user asked for the microversion
	base   string // what the version was appended to, "" when it was there
}

// Request is one request to a service.
type Request struct {
	Method string // "" is GET
	Path   string // below the endpoint: "/networks"; an absolute URL is taken as it is
	Query  url.Values
	Header http.Header
	// Body is sent as JSON; an io.Reader as it is, with the Content-Type of Header.
	Body any
	// Size is the length of a Body that is a reader; 0 is unknown.
	Size int64
	// OK lists the accepted status codes; none means all of 200 to 299.
	OK []int
	// Into takes the decoded JSON of the answer; nil leaves it.
	Into any
	// Once forbids retries of a request that would be repeatable by its method.
	Once bool
}

// Response is the answer to a request whose body was not decoded: the caller closes Body.
type Response struct {
	Status int
	Header http.Header
	Body   io.ReadCloser
}

// Do sends a request, with retries where they are safe, and decodes the answer
// into Into. A status outside of OK is a [*Fault].
func (s Service) Do(ctx context.Context, r Request) error { return s.do(ctx, r) }

// Open is Do for an answer that is read by the caller.
func (s Service) Open(ctx context.Context, r Request) (*Response, error) { return s.open(ctx, r) }

// At is the service with another microversion.
func (s Service) At(microversion string) Service { s.Microversion = microversion; return s }
