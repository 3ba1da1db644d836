// Package sse writes and reads server-sent events, the text/event-stream format
// of the HTML standard. Lines may end in LF, CR LF or CR; an event ends with an
// empty line; an event cut short by the end of the stream is dropped.
package sse

import "time"

// ContentType is the media type of a stream of events.
const ContentType = "text/event-stream"

// Event is one event of a stream.
type Event struct {
	// ID names the position in the stream: a client that reconnects sends the
	// last one as Last-Event-ID. When read, an event without an id of its own
	// has that of the event before.
	ID string
	// Name is the kind of event, "" for a plain message.
	Name string
	// Data is the payload. Its line ends are written, and read, as LF.
	Data []byte
	// Retry, when not 0, is how long a client waits before it reconnects.
	Retry time.Duration
}
