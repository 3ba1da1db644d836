// Package api declares the API of the agent, once: each [Operation] is a typed
// value with its path, need, documentation and example. The server (daemon/httpd),
// the client, the OpenAPI document and the tests all derive from these values.
//
// How an input struct travels: fields tagged path, query (",explode" repeats the
// parameter) and header go there, a field named Body is the JSON body, a field
// named RawBody the body as is, which may be empty when it is tagged required:"false". How an output struct travels: fields tagged
// header go there, a field named RawBody is the body as is, else the struct
// itself is the JSON body; an empty struct has none.
//
// The values that describe the cluster are those of package cluster: the wire
// and the memory have one shape. The package knows no HTTP library.
package api

import (
	"reflect"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Operation is one endpoint, from its input to its output.
type Operation[In, Out any] struct {
	ID     string    // as "GetObjects": unique, the operationId of the document
	Method string    // as "GET"
	Path   string    // as "/api/object/path/{namespace}/{kind}/{name}"
	Tag    string    // chapter of the document
	Need   rbac.Need // what the caller must hold
	Doc    string    // what it does, for users
	Status int       // of a success; 0 is 200
	Errors []int     // statuses documented beside 400, 401, 403 and 500
	Max    int64     // most bytes of the request body; 0 is [MaxBody]
	// Trusted skips the schema check of the body: it comes from the agent itself.
	Trusted bool
	// Example gives a request and its answer.
	Example func() (In, Out)
}

// Version is that of the API: it grows when operations or fields do.
const Version = "4.1.5"

// MaxBody bounds the body of a request, unless the operation says otherwise.
const MaxBody = 1 << 20

// Description is an [Operation] without its types.
type Description struct {
	ID, Method, Path, Tag, Doc string
	Need                       rbac.Need
	Status                     int
	Errors                     []int
	Max                        int64
	Trusted                    bool
	In, Out                    reflect.Type
	HasExample                 bool
	ExampleIn, ExampleOut      func() any
}

// Endpoint is any [Operation].
type Endpoint interface{ Describe() Description }

// Describe returns the facts of the operation, defaults applied.
func (o Operation[In, Out]) Describe() Description {
	d := Description{
		ID: o.ID, Method: o.Method, Path: o.Path, Tag: o.Tag, Doc: o.Doc,
		Need: o.Need, Status: o.Status, Errors: o.Errors, Max: o.Max, Trusted: o.Trusted,
		In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out](),
		HasExample: o.Example != nil,
		ExampleIn:  func() any { in, _ := o.Example(); return in },
		ExampleOut: func() any { _, out := o.Example(); return out },
	}
	if d.Status == 0 {
		d.Status = 200
	}
	if d.Max == 0 {
		d.Max = MaxBody
	}
	return d
}

// None is the input or the output of an operation that has none.
type None struct{}

// Item is one thing of a list: what it is known by, and what is known of it. Its kind
// is the name of the type made of it, as the document says.
type Item[Meta, Data any] struct {
	Kind string `json:"kind"`
	Meta Meta   `json:"meta"`
	Data Data   `json:"data"`
}

// List is a list of things. Its kind is the name of the type made of it.
type List[Item any] struct {
	Kind  string `json:"kind"`
	Items []Item `json:"items"`
}
