package render

// Repr is how Python writes a value, for the few cells that upstream makes with
// classes of its own.
func Repr(v any) string { return string(appendRepr(nil, v)) }
