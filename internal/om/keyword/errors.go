package keyword

// UnknownSectionError is a section no schema declares.
type UnknownSectionError struct {
	Section string
	Nearest string
	Reason  string
}

func (e *UnknownSectionError) Error() string { panic("to write") }

// UnknownDriverError is a type that names no driver.
type UnknownDriverError struct {
	Section string
	Type    string
	Nearest string
	Known   []string
}

func (e *UnknownDriverError) Error() string { panic("to write") }

// UnknownKeywordError is an option the section does not have.
type UnknownKeywordError struct {
	Section   string
	Option    string
	Driver    string
	Nearest   string
	Elsewhere string // where a keyword of that name exists
}

func (e *UnknownKeywordError) Error() string { panic("to write") }
