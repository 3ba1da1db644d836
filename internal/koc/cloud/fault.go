package cloud

// Fault is the refusal of a service: an answer with a status that is an error.
type Fault struct {
	Service   string // type of the service: "compute"
	Method    string
	URL       string
	Status    int
	Code      string // name of the fault in the answer: itemNotFound, PortInUse
	Message   string // the sentence of the service
	RequestID string // x-openstack-request-id
}

// Error is the sentence of the service, else the name of the status, then the
// status and the id of the request.
func (f *Fault) Error() string { return f.Message }
