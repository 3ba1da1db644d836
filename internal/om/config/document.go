package config

// Document is a configuration file in memory. It is lossless: what no edit
// touches is printed back byte for byte.
type Document struct{}

// NewDocument returns an empty document.
func NewDocument() *Document { return &Document{} }

// Parse reads a configuration file.
func Parse(data []byte) (*Document, error) { panic("to write") }

// Bytes prints the document.
func (d *Document) Bytes() []byte { panic("to write") }

// Clone returns a copy that shares nothing with d.
func (d *Document) Clone() *Document { panic("to write") }

// Sections lists the section names, in file order, each once.
func (d *Document) Sections() []string { panic("to write") }

// Has tells whether the section exists.
func (d *Document) Has(section string) bool { panic("to write") }

// Keys lists the keys of a section, in file order, each once.
func (d *Document) Keys(section string) []Key { panic("to write") }

// Get returns the raw value of exactly that key.
func (d *Document) Get(k Key) (string, bool) { panic("to write") }

// Set gives a key a value. The error says why the key or the value cannot be written in a file.
func (d *Document) Set(k Key, value string) error { panic("to write") }

// Unset removes a key and reports whether it was there.
func (d *Document) Unset(k Key) bool { panic("to write") }

// DeleteSection removes a section and reports whether it was there.
func (d *Document) DeleteSection(name string) bool { panic("to write") }

// Duplicate is a key written more than once: the last one is read.
type Duplicate struct {
	Key   Key
	Lines []int
}

// Duplicates lists the keys written more than once.
func (d *Document) Duplicates() []Duplicate { panic("to write") }
