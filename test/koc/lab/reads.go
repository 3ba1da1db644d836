package lab

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Read is a line of reads.txt.
type Read struct {
	Service   string
	Name      string // of a let: what the command prints replaces {Name}
	Argv      []string
	Time      bool // @time: times differ between two runs
	Digits    bool // @digits: so do figures
	Figures   bool // @figures: so does how long they are
	Unordered bool // @unordered: the service gives rows in no order
	Fails     bool // @fails: of the oracle too
	Broken    bool // @broken: the oracle crashes, koc answers
	variants  Variants
}

// String is its command line as it is written in reads.txt and accepted.txt.
func (r Read) String() string { return strings.Join(r.Argv, " ") }

// noun is what a list lists, with the version of the service; "" if it is no list.
func (r Read) noun() string {
	for i, a := range r.Argv {
		if a == "list" {
			return strings.Join(r.Argv[:i+1], " ")
		}
	}
	return ""
}

// ParseReads reads reads.txt.
func ParseReads(in io.Reader) ([]Read, error) {
	var all []Read
	service := ""
	for lines, n := bufio.NewScanner(in), 1; ; n++ {
		if !lines.Scan() {
			return all, lines.Err()
		}
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' && line[len(line)-1] == ']' {
			service = line[1 : len(line)-1]
			continue
		}
		words, err := Words(line)
		if err != nil {
			return nil, fmt.Errorf("reads.txt:%d: %w", n, err)
		}
		r := Read{Service: service}
		if len(words) > 3 && words[0] == "let" && words[2] == "=" {
			r.Name, words = words[1], words[3:]
		}
		for len(words) > 0 && words[0][0] == '@' {
			switch words[0] {
			case "@time":
				r.Time = true
			case "@digits":
				r.Digits = true
			case "@figures":
				r.Figures = true
			case "@unordered":
				r.Unordered = true
			case "@fails":
				r.Fails = true
			case "@broken":
				r.Broken = true
			default:
				return nil, fmt.Errorf("reads.txt:%d: %s: no such mark", n, words[0])
			}
			words = words[1:]
		}
		r.Argv = words
		all = append(all, r)
	}
}

// Words splits a line as a shell does: blanks separate, single and double quotes hold together.
func Words(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, in := rune(0), false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == ' ' || c == '\t':
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteRune(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote has no end: %s", line)
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}

// Fill replaces {name} by what values holds.
func Fill(argv []string, values map[string]string) []string {
	filled := make([]string, len(argv))
	for i, a := range argv {
		filled[i] = regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(a, func(name string) string {
			if v, ok := values[name[1:len(name)-1]]; ok {
				return v
			}
			return name
		})
	}
	return filled
}

// Accepted is a difference that stays, with its reason.
type Accepted struct {
	Command *regexp.Regexp
	Formats []string // empty: all
	Reason  string
	Used    bool
}

// ParseAccepted reads accepted.txt: lines of COMMAND-REGEXP | FORMATS or * | REASON.
func ParseAccepted(in io.Reader) ([]*Accepted, error) {
	var all []*Accepted
	for lines, n := bufio.NewScanner(in), 1; ; n++ {
		if !lines.Scan() {
			return all, lines.Err()
		}
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, " | ", 3)
		if len(parts) != 3 || strings.TrimSpace(parts[2]) == "" {
			return nil, fmt.Errorf("accepted.txt:%d: want COMMAND-REGEXP | FORMATS | REASON", n)
		}
		re, err := regexp.Compile("^(?:" + strings.TrimSpace(parts[0]) + ")$")
		if err != nil {
			return nil, fmt.Errorf("accepted.txt:%d: %w", n, err)
		}
		a := &Accepted{Command: re, Reason: strings.TrimSpace(parts[2])}
		if f := strings.TrimSpace(parts[1]); f != "*" {
			a.Formats = strings.Split(f, ",")
		}
		all = append(all, a)
	}
}
