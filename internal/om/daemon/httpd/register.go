package httpd

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// descriptionKey is where the middlewares find the description of an operation.
const descriptionKey = "description"

// newAPI returns an API without the routes, formats and schema links that huma
// adds by default: what is served is what package api declares.
func newAPI(mux *http.ServeMux) huma.API {
	config := huma.DefaultConfig("Holdfast agent", api.Version)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}
	config.Formats = map[string]huma.Format{"application/json": format, "json": format}
	config.Transformers = []huma.Transformer{toProblem}
	config.RejectUnknownQueryParameters = true
	config.AllowAdditionalPropertiesByDefault = true // answers may grow; request bodies say otherwise
	config.Components.Responses = map[string]*huma.Response{}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearerAuth": {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "Token made by om daemon auth token."},
	}
	config.Info.Description = "The API of the Holdfast agent. The root socket of a node needs no token; the listener does."
	config.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	a := humago.New(mux, config)
	a.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[cluster.ResourceConfig](), reflect.TypeFor[ResourceConfig]())
	return a
}

// ResourceConfig documents how a [cluster.ResourceConfig] travels. The name of the
// schema is that of the type.
type ResourceConfig struct {
	IsDisabled   bool   `json:"is_disabled"`
	IsMonitored  bool   `json:"is_monitored"`
	IsStandby    bool   `json:"is_standby"`
	Restart      int    `json:"restart" doc:"How many times the daemon restarts the resource."`
	RestartDelay string `json:"restart_delay" doc:"The least time between two restarts." example:"500ms"`
}

// handle serves an operation.
func handle[In, Out any](s *Server, op api.Operation[In, Out], h func(context.Context, *In) (Out, error)) {
	d := op.Describe()
	register(s, d, func(ctx context.Context, in *In) (body, error) {
		out, err := h(ctx, in)
		return s.encodeOutput(ctx, d, out), err
	})
}

// register serves an operation whose handler makes the body itself.
func register[In any](s *Server, d api.Description, h func(context.Context, *In) (body, error)) {
	if s.handled[d.ID] {
		panic("operation " + d.ID + " has two handlers")
	}
	s.handled[d.ID] = true
	op := s.operation(d)
	if field, ok := d.In.FieldByName(rawBody); ok && field.Tag.Get("required") == "false" {
		op.RequestBody = &huma.RequestBody{}
		defer func() { op.RequestBody.Required = false }() // huma shares it, and requires any body
	}
	huma.Register(s.api, op, func(ctx context.Context, in *In) (*huma.StreamResponse, error) {
		b, err := h(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, d, err)
		}
		if d.Method != http.MethodGet && !d.Trusted {
			s.log(ctx).Info("request", slog.String("action", d.ID), slog.String("object", subject(in)), slog.String("peer", principal(ctx).Name))
		}
		return &huma.StreamResponse{Body: func(c huma.Context) { b(c, d.Status) }}, nil
	})
}

// operation documents d.
func (s *Server) operation(d api.Description) huma.Operation {
	summary, _, _ := strings.Cut(d.Doc, ". ")
	op := huma.Operation{
		OperationID: d.ID, Method: d.Method, Path: d.Path, Tags: []string{d.Tag},
		Summary: strings.TrimSuffix(summary, "."), Description: d.Doc + "\n\nNeeds: " + d.Need.String() + ".",
		DefaultStatus: d.Status, MaxBodyBytes: -1, BodyReadTimeout: -1, SkipValidateBody: d.Trusted,
		Metadata:  map[string]any{descriptionKey: d},
		Security:  []map[string][]string{{"bearerAuth": {}}},
		Responses: map[string]*huma.Response{strconv.Itoa(d.Status): s.response(d)},
		Errors:    append([]int{http.StatusBadRequest}, d.Errors...),
	}
	if d.Need == rbac.Public {
		op.Security = []map[string][]string{}
	} else {
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
	}
	if strings.Contains(d.Path, "{nodename}") {
		op.Errors = append(op.Errors, http.StatusNotFound, http.StatusBadGateway, http.StatusGatewayTimeout)
	}
	if d.Method == http.MethodGet && itemType(d.Out) != nil {
		op.Parameters = append(op.Parameters,
			&huma.Param{Name: "fields", In: "query", Description: fieldsDoc, Schema: &huma.Schema{Type: huma.TypeString}, Example: "meta.object"},
			&huma.Param{Name: "If-None-Match", In: "header", Description: "Entity tag of the answer already held.", Schema: &huma.Schema{Type: huma.TypeString}})
		op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{Description: "The answer is the one already held."}
	}
	for _, status := range append(op.Errors, http.StatusInternalServerError) {
		op.Responses[strconv.Itoa(status)] = s.refusal(status)
	}
	op.Errors = nil
	return op
}

// refusal documents a refusal, once for all operations.
func (s *Server) refusal(status int) *huma.Response {
	name := strings.ReplaceAll(http.StatusText(status), " ", "")
	known := s.api.OpenAPI().Components.Responses
	if known[name] == nil {
		known[name] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: s.schema(reflect.TypeFor[api.Problem]())}},
		}
	}
	return &huma.Response{Ref: "#/components/responses/" + name}
}

// response documents a success, by the rules package api states for outputs.
func (s *Server) response(d api.Description) *huma.Response {
	r := &huma.Response{Description: http.StatusText(d.Status)}
	example, contentType, isRaw := d.ExampleOut(), "application/json", false
	if d.Out.Kind() == reflect.Struct {
		for i := range d.Out.NumField() {
			field := d.Out.Field(i)
			if name := field.Tag.Get("header"); name != "" {
				if r.Headers == nil {
					r.Headers = map[string]*huma.Param{}
				}
				r.Headers[name] = &huma.Param{Description: field.Tag.Get("doc"), Schema: &huma.Schema{Type: huma.TypeString}}
			}
			if field.Name == rawBody {
				isRaw, contentType = true, field.Tag.Get("contentType")
				example = string(reflect.ValueOf(example).Field(i).Bytes())
			}
		}
	}
	switch {
	case d.Status == http.StatusNoContent || d.Out == reflect.TypeFor[api.None]():
	case isRaw && contentType == "application/json":
		r.Content = map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeObject}}}
	case isRaw:
		r.Content = map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString}, Example: example}}
	default:
		r.Content = map[string]*huma.MediaType{contentType: {Schema: s.schema(d.Out), Example: example}}
	}
	return r
}

func (s *Server) schema(t reflect.Type) *huma.Schema {
	return s.api.OpenAPI().Components.Schemas.Schema(t, true, "")
}

// openAPI encodes the document.
func (s *Server) openAPI() ([]byte, error) {
	nameKinds(s.api.OpenAPI().Components.Schemas.Map())
	doc, err := indentJSON(s.api.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("encode the OpenAPI document: %w", err)
	}
	return doc, nil
}

// nameKinds documents the kind of the items and lists that share a declaration: it
// is the name of their type.
func nameKinds(schemas map[string]*huma.Schema) {
	for name, schema := range schemas {
		kind := schema.Properties["kind"]
		isNamed := strings.HasSuffix(name, "Item") || strings.HasSuffix(name, "List")
		if isNamed && kind != nil && len(kind.Enum) == 0 && len(kind.Examples) == 0 {
			kind.Enum = []any{name}
		}
	}
}

// Document returns the OpenAPI document of the API.
func (s *Server) Document() ([]byte, error) { return s.document() }

// subject names the object a request is about, for the log; empty when it is
// about none.
func subject(in any) string {
	if n, ok := in.(interface{ ObjectPath() (object.Path, error) }); ok {
		if p, err := n.ObjectPath(); err == nil {
			return p.String()
		}
	}
	return ""
}
