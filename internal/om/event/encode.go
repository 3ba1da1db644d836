package event

import (
	"bytes"
	"encoding/json"
)

// Data returns the event as one line of JSON: its labels, then its fields. The
// result is shared: it must not be changed.
func (e *Envelope) Data() []byte {
	if e.memo == nil {
		return encode(e)
	}
	e.memo.encode()
	return e.memo.data
}

// document returns the decoded [Envelope.Data], for filters on fields.
func (e *Envelope) document() any {
	if e.memo == nil {
		return decode(encode(e))
	}
	e.memo.decode()
	return e.memo.doc
}

func encode(e *Envelope) []byte {
	labels := e.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	head, _ := json.Marshal(struct { // strings always encode
		Labels map[string]string `json:"labels"`
	}{labels})
	body, err := json.Marshal(e.Event)
	if err != nil { // a value a driver gave, as an infinite float: say so rather than lose the event
		body, _ = json.Marshal(struct {
			Error string `json:"encoding_error"`
		}{err.Error()})
	}
	if bytes.Equal(body, []byte("{}")) {
		return head
	}
	data := make([]byte, 0, len(head)+len(body))
	data = append(data, head[:len(head)-1]...)
	data = append(data, ',')
	return append(data, body[1:]...)
}

func decode(data []byte) any {
	var doc any
	if json.Unmarshal(data, &doc) != nil {
		return nil
	}
	return doc
}
