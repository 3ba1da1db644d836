package command

// Values are the parsed values of a command line. The names are those of the
// declaration, of flags ("mtu") and arguments ("<network>") alike; a name that is
// not declared panics, since that is a mistake of the program.
type Values struct {
	// filled by Parse
	given map[string][]string
	decl  map[string]int // 1 flag, 2 arg
}

// Pair is one key=value.
type Pair struct{ Key, Value string }

// Given reports whether the flag or argument was in the command line.
func (v *Values) Given(name string) bool { panic("not written yet") }

// Declares reports whether the command has a flag or argument of the name.
func (v *Values) Declares(name string) bool { panic("not written yet") }

// Is reports whether a flag without value was given.
func (v *Values) Is(name string) bool { panic("not written yet") }

// Text is the last value, else the default, else "".
func (v *Values) Text(name string) string { panic("not written yet") }

// Texts are all values in order (items of Commas flags one by one); nil when none was given and there is no default.
func (v *Values) Texts(name string) []string { panic("not written yet") }

// Int is the value as a number, 0 when there is none. Parse has checked it.
func (v *Values) Int(name string) int { panic("not written yet") }

// Float is the value as a number, 0 when there is none.
func (v *Values) Float(name string) float64 { panic("not written yet") }

// Pairs are the pairs of a KeyValue or KeyList flag in the order of first appearance, the last value of a key for KeyValue.
func (v *Values) Pairs(name string) []Pair { panic("not written yet") }

// Map is Pairs as a map; never nil.
func (v *Values) Map(name string) map[string]string { panic("not written yet") }

// Records are the records of a Records flag.
func (v *Values) Records(name string) []map[string]string { panic("not written yet") }
