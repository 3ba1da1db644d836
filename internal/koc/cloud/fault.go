package cloud

import (
	"fmt"
	"net/http"
	"strings"
)

// Fault is the refusal of a service: an answer with a status that is an error.
type Fault struct {
	Service   string // type of the service: "compute"
	Method    string
	URL       string
	Status    int
	Code      string // name of the fault in the answer: itemNotFound, PortInUse
	Message   string // the sentence of the service
	RequestID string // x-openstack-request-id

	hint string // what to do
}

// Error is the sentence of the service, else the name of the status, then the
// status and the id of the request.
func (f *Fault) Error() string {
	var b strings.Builder
	text := strings.TrimRight(f.Message, ". \n")
	if text == "" {
		text = strings.ToLower(http.StatusText(f.Status))
		if f.Service != "" {
			text = "the " + f.Service + " service says: " + text
		}
	}
	b.WriteString(text)
	fmt.Fprintf(&b, " (%d", f.Status)
	if f.RequestID != "" {
		b.WriteString(", request " + f.RequestID)
	}
	b.WriteString(")")
	if f.hint != "" {
		b.WriteString("; " + f.hint)
	}
	return b.String()
}

func (a *answer) fault() *Fault {
	defer a.close()
	return &Fault{Service: a.call.service, Method: a.call.method, URL: a.call.url, Status: a.status, RequestID: a.header.Get("X-Openstack-Request-Id")}
}
