package render

// Repr is how Python writes a value, for the few cells that upstream makes with
// classes of its own.
func Repr(v any) string { return string(appendRepr(nil, v)) }

// Munch is a dictionary that Python writes as a Munch: what the SDK of upstream
// adds to some things of its own accord.
type Munch []Field

// Size is what [SizeCell] shows people, for those that upstream makes a text.
func Size(v any) any { return formatSize(v) }
