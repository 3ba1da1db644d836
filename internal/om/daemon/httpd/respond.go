package httpd

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// rawBody is the name of the fields that are a body as is.
const rawBody = "RawBody"

// body writes an answer of the given status.
type body func(c huma.Context, status int)

// encodeOutput lays an output out as package api documents. What is read carries an
// entity tag, and is told unchanged to who holds it.
func (s *Server) encodeOutput(ctx context.Context, d api.Description, out any) body {
	return func(c huma.Context, status int) {
		v, contentType := reflect.ValueOf(out), "application/json"
		var data []byte
		isRaw, tag := false, ""
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				field := v.Type().Field(i)
				if name := field.Tag.Get("header"); name != "" {
					c.SetHeader(name, v.Field(i).String())
					if name == "ETag" {
						tag = v.Field(i).String()
					}
				}
				if field.Name == rawBody {
					isRaw, contentType, data = true, field.Tag.Get("contentType"), v.Field(i).Bytes()
				}
			}
		}
		if status == http.StatusNoContent || d.Out == reflect.TypeFor[api.None]() {
			c.SetStatus(status)
			return
		}
		if !isRaw {
			var err error
			if data, err = json.Marshal(out); err != nil {
				writeProblem(c, api.NewProblem(http.StatusInternalServerError, asked(c)+": encode the answer: "+err.Error()))
				return
			}
			if f := fields(ctx); f != nil {
				if data, err = f.list(data); err != nil {
					writeProblem(c, api.NewProblem(http.StatusInternalServerError, asked(c)+": "+err.Error()))
					return
				}
			}
		}
		if d.Method == http.MethodGet {
			if tag == "" {
				tag = tagOf(s.seed, data)
			}
			if toldUnchanged(c, tag) {
				return
			}
		}
		writeBytes(c, status, contentType, data)
	}
}

// writeBytes writes a whole body, compressed when that is of use.
func writeBytes(c huma.Context, status int, contentType string, data ...[]byte) {
	length := 0
	for _, d := range data {
		length += len(d)
	}
	if !compresses(c, length) {
		writePlain(c, status, contentType, data...)
		return
	}
	c.SetHeader("Content-Type", contentType)
	c.SetHeader("Content-Encoding", "gzip")
	c.SetHeader("Vary", "Accept-Encoding")
	c.SetStatus(status)
	writeCompressed(c.BodyWriter(), data)
}

// writePlain writes a whole body as it is. A client that is gone is no error of ours.
func writePlain(c huma.Context, status int, contentType string, data ...[]byte) {
	length := 0
	for _, d := range data {
		length += len(d)
	}
	c.SetHeader("Content-Type", contentType)
	c.SetHeader("Content-Length", strconv.Itoa(length))
	c.SetStatus(status)
	for _, d := range data {
		if _, err := c.BodyWriter().Write(d); err != nil {
			return
		}
	}
}

// worthwhile is the length from which a body is compressed: below, it fits a packet.
const worthwhile = 1400

// compresses reports whether a body is sent compressed: it crosses a network and
// the reader understands.
func compresses(c huma.Context, length int) bool {
	return length > worthwhile && c.TLS() != nil && acceptsGzip(c.Header("Accept-Encoding"))
}

// acceptsGzip reads an Accept-Encoding header: a weight of zero is a refusal.
func acceptsGzip(header string) bool {
	star := false
	for word := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(word, ";")
		accepted := true
		if q, ok := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(weight, " ", "")), "q="); ok {
			w, err := strconv.ParseFloat(q, 64)
			accepted = err == nil && w > 0
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			return accepted
		case "*":
			star = accepted
		}
	}
	return star
}

func writeCompressed(w io.Writer, data [][]byte) {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return // the level is known
	}
	for _, d := range data {
		if _, err := z.Write(d); err != nil {
			return
		}
	}
	_ = z.Close() // the client is gone
}

func writeProblem(c huma.Context, p *api.Problem) {
	data, err := json.Marshal(p)
	if err != nil {
		c.SetStatus(http.StatusInternalServerError)
		return
	}
	writeBytes(c, p.Status, p.ContentType(""), data)
}

func indentJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
