package config

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// An arithmetic is a $( ... ) holding only numbers, references, + - * / and
// parentheses. Anything else between $( and ) is text, that of a shell.
type arithmetic struct {
	text   string // from the dollar to the closing parenthesis
	tokens []token
	sure   bool // holds a number or an operator, not just a reference
}

type token struct {
	kind byte // 'n' number, 'r' reference, or the sign itself
	num  quantity
	ref  reference
}

// maxTokens bounds an arithmetic.
const maxTokens = 256

// A quantity is a number and what it counts.
type quantity struct {
	rat   *big.Rat
	unit  quantityUnit
	whole bool // a size, or a share of something: printed without decimals
}

type quantityUnit uint8

const (
	plainNumber quantityUnit = iota
	byteCount
	percentage
)

// parseArithmetic reads the arithmetic s starts with; ok is false when it is a
// text. What only holds numbers, references and signs, a number among them, and
// no closing parenthesis is an error: no shell would do anything with it.
func parseArithmetic(s string) (a arithmetic, ok bool, err error) {
	if !strings.HasPrefix(s, "$(") {
		return arithmetic{}, false, nil
	}
	depth := 1
	for i := 2; i < len(s); {
		switch c := s[i]; {
		case strings.IndexByte(" \t\n", c) >= 0:
			i++
			continue
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				a.text = s[:i+1]
				p := arithmeticParser{tokens: a.tokens}
				return a, len(a.tokens) > 0 && p.sum(nil) && p.pos == len(p.tokens), nil
			}
		case strings.IndexByte("+-*/", c) >= 0:
			a.sure = true
		case c == '{':
			r, ok := parseReference(s[i:])
			if !ok {
				return arithmetic{}, false, nil
			}
			a.tokens = append(a.tokens, token{kind: 'r', ref: r})
			i += len(r.text)
			continue
		default:
			q, n, ok := parseQuantity(s[i:])
			if !ok {
				return arithmetic{}, false, nil
			}
			a.sure = true
			a.tokens = append(a.tokens, token{kind: 'n', num: q})
			i += n
			continue
		}
		a.tokens = append(a.tokens, token{kind: s[i]})
		i++
		if len(a.tokens) > maxTokens {
			return arithmetic{}, false, nil
		}
	}
	if slices.ContainsFunc(a.tokens, func(t token) bool { return t.kind == 'n' }) {
		return arithmetic{}, false, fmt.Errorf("%s: the arithmetic is not closed: add a parenthesis", clip(s))
	}
	return arithmetic{}, false, nil
}

// parseQuantity reads the number s starts with, as 1.5, 10g or 60%.
func parseQuantity(s string) (q quantity, n int, ok bool) {
	number, rest := splitNumber(s)
	r, ok := parseDecimal(number)
	if !ok {
		return quantity{}, 0, false
	}
	if strings.HasPrefix(rest, "%") {
		return quantity{rat: r.Quo(r, big.NewRat(100, 1)), unit: percentage}, len(number) + 1, true
	}
	for n < len(rest) && (rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z' || rest[n] == '_') {
		n++
	}
	if n == 0 {
		return quantity{rat: r}, len(number), true
	}
	factor, ok := sizeFactor(rest[:n])
	if !ok {
		return quantity{}, 0, false
	}
	return quantity{rat: r.Mul(r, new(big.Rat).SetInt(factor)), unit: byteCount, whole: true}, len(number) + n, true
}

// evaluate computes the result. isNumber is false for a lone reference to
// something which is not a number: that is a command.
func (a arithmetic) evaluate(resolve func(reference) (string, error)) (result string, isNumber bool, err error) {
	for i := range a.tokens {
		t := &a.tokens[i]
		if t.kind != 'r' {
			continue
		}
		text, err := resolve(t.ref)
		if err != nil {
			return "", false, err
		}
		q, ok := wholeQuantity(strings.TrimSpace(text))
		if !ok && !a.sure {
			return "", false, nil
		}
		if !ok {
			return "", false, fmt.Errorf("reference %s is %q, which is not a number", t.ref.text, clip(text))
		}
		t.kind, t.num = 'n', q
	}
	p := arithmeticParser{tokens: a.tokens}
	var q quantity
	p.sum(&q)
	if p.err != nil {
		return "", false, p.err
	}
	result, err = q.format()
	return result, err == nil, err
}

// wholeQuantity reads a text which is only a number, possibly negative.
func wholeQuantity(s string) (quantity, bool) {
	digits, negative := strings.CutPrefix(s, "-")
	q, n, ok := parseQuantity(digits)
	if !ok || n != len(digits) {
		return quantity{}, false
	}
	if negative {
		q.rat.Neg(q.rat)
	}
	return q, true
}

// format prints a quantity in digits, never in scientific notation.
func (q quantity) format() (string, error) {
	whole := new(big.Int).Quo(q.rat.Num(), q.rat.Denom())
	if !whole.IsInt64() {
		return "", errors.New("the result does not fit in 63 bits")
	}
	if q.whole || q.rat.IsInt() {
		return whole.String(), nil
	}
	return strings.TrimRight(strings.TrimRight(q.rat.FloatString(9), "0"), "."), nil
}

// An arithmeticParser walks the grammar
//
//	sum     = product { ( "+" | "-" ) product }
//	product = factor { ( "*" | "/" ) factor }
//	factor  = "-" factor | "(" sum ")" | number | reference
//
// computing as it goes. With nil results it only checks the grammar.
type arithmeticParser struct {
	tokens []token
	pos    int
	err    error
}

func (p *arithmeticParser) next() byte {
	if p.pos < len(p.tokens) {
		return p.tokens[p.pos].kind
	}
	return 0
}

func (p *arithmeticParser) sum(q *quantity) bool { return p.operation("+-", p.product, q) }

func (p *arithmeticParser) product(q *quantity) bool { return p.operation("*/", p.factor, q) }

func (p *arithmeticParser) operation(signs string, operand func(*quantity) bool, q *quantity) bool {
	if !operand(q) {
		return false
	}
	for p.next() != 0 && strings.IndexByte(signs, p.next()) >= 0 {
		sign := p.next()
		p.pos++
		if q == nil {
			if !operand(nil) {
				return false
			}
			continue
		}
		var right quantity
		if !operand(&right) {
			return false
		}
		if err := q.combine(sign, right); err != nil {
			p.err = err
			return false
		}
	}
	return true
}

func (p *arithmeticParser) factor(q *quantity) bool {
	switch p.next() {
	case '-':
		p.pos++
		if !p.factor(q) {
			return false
		}
		if q != nil {
			q.rat = new(big.Rat).Neg(q.rat)
		}
		return true
	case '(':
		p.pos++
		if !p.sum(q) || p.next() != ')' {
			return false
		}
	case 'n', 'r':
		if q != nil {
			*q = p.tokens[p.pos].num
		}
	default:
		return false
	}
	p.pos++
	return true
}

// combine replaces q by q sign r.
func (q *quantity) combine(sign byte, r quantity) error {
	result := new(big.Rat)
	unit, err := combineUnits(sign, q.unit, r.unit)
	if err != nil {
		return err
	}
	switch sign {
	case '+':
		result.Add(q.rat, r.rat)
	case '-':
		result.Sub(q.rat, r.rat)
	case '*':
		result.Mul(q.rat, r.rat)
	case '/':
		if r.rat.Sign() == 0 {
			return errors.New("division by zero")
		}
		result.Quo(q.rat, r.rat)
	}
	if result.Num().BitLen()+result.Denom().BitLen() > 4096 {
		return errors.New("the numbers are too large")
	}
	share := sign == '*' && q.unit != r.unit && (q.unit == percentage || r.unit == percentage)
	ratio := sign == '/' && r.unit == byteCount
	*q = quantity{rat: result, unit: unit, whole: !ratio && (q.whole || r.whole || share)}
	return nil
}

// combineUnits tells what the result of an operation counts.
func combineUnits(sign byte, a, b quantityUnit) (quantityUnit, error) {
	switch sign {
	case '+', '-':
		if a != b && (a == percentage || b == percentage) {
			return 0, errors.New("a percentage is added to something else: say of what with *")
		}
		return max(a, b), nil
	case '*':
		switch {
		case a == byteCount && b == byteCount:
			return 0, errors.New("a size is multiplied by a size")
		case a == percentage && b == percentage:
			return percentage, nil
		case a == byteCount || b == byteCount:
			return byteCount, nil
		}
		return plainNumber, nil
	default:
		if a == b || b == byteCount {
			return plainNumber, nil
		}
		return a, nil
	}
}
