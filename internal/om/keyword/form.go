package keyword

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// The rules of values that have a form, for [Keyword.Check]. All accept the
// empty text: whether a value is needed is for [Keyword.Required] to tell.

// Each is the rule of lists of words that all follow a rule.
func Each(rule func(word string) error) func(text string) error {
	return func(text string) error {
		for word := range strings.FieldsSeq(text) {
			if err := rule(word); err != nil {
				return fmt.Errorf("%q: %w", word, err)
			}
		}
		return nil
	}
}

// Command is the rule of commands, which are run as [config.ParseCommand] says.
func Command(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	_, err := config.ParseCommand(text)
	return err
}

// Words is the rule of options handed over to a command.
func Words(text string) error {
	_, err := config.ParseShlex(text)
	return err
}

// File is the rule of absolute paths.
func File(text string) error {
	switch {
	case text == "":
		return nil
	case !path.IsAbs(text):
		return errors.New("not an absolute path: write it from the root, as /srv/data")
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("not a path: it holds a control character")
	}
	return nil
}

// URL is the rule of addresses of web servers.
func URL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || Host(u.Hostname()) != nil || u.Hostname() == "" || !validPort(u.Port()) {
		return errors.New("not a url: write one as https://server.example.com/path")
	}
	return nil
}

// URLOrFile is the rule of what is fetched from a web server, or read.
func URLOrFile(text string) error {
	if strings.HasPrefix(text, "/") {
		return File(text)
	}
	if URL(text) != nil {
		return errors.New("neither a url nor an absolute path: write http://server.example.com/name or /path/name")
	}
	return nil
}

// Server is the rule of servers: a url, or a host with or without a port.
func Server(text string) error {
	if text == "" || URL(text) == nil {
		return nil
	}
	host, port := text, ""
	if at := strings.LastIndexByte(text, ':'); at >= 0 && (strings.Count(text, ":") == 1 || strings.HasSuffix(text[:at], "]")) {
		host, port = text[:at], text[at+1:]
		if port == "" {
			port = "none"
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	}
	if host == "" || Host(host) != nil || !validPort(port) {
		return errors.New("not a server: write a url as https://server.example.com, or a host as server.example.com:1215")
	}
	return nil
}

func validPort(text string) bool {
	if text == "" {
		return true
	}
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= 65535 && text[0] != '+'
}

// label is a part of a host name; underscores are seen in the wild.
var label = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?$`)

// Host is the rule of host names and addresses.
func Host(text string) error {
	if text == "" || Address(text) == nil {
		return nil
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(text, "."), ".") {
		if len(part) > 63 || !label.MatchString(part) {
			return errors.New("neither a host name nor an address: write one as server.example.com or 192.0.2.1")
		}
	}
	return nil
}

// Address is the rule of addresses.
func Address(text string) error {
	if text == "" {
		return nil
	}
	if _, err := netip.ParseAddr(text); err != nil {
		return errors.New("not an address: write one as 192.0.2.1 or 2001:db8::1")
	}
	return nil
}

// Multicast is the rule of the addresses of groups.
func Multicast(text string) error {
	if text == "" {
		return nil
	}
	if addr, err := netip.ParseAddr(text); err != nil || !addr.IsMulticast() {
		return errors.New("not a multicast address: write one as 224.3.29.71 or ff02::1:71")
	}
	return nil
}

// Network is the rule of networks, as an address and the length of its mask.
func Network(text string) error {
	if text == "" {
		return nil
	}
	if _, err := netip.ParsePrefix(text); err != nil {
		return errors.New("not a network: write an address and the length of its mask, as 10.22.0.0/16")
	}
	return nil
}

// Interface is the rule of names of network interfaces, which the kernel bounds.
func Interface(text string) error {
	const longest = 15
	if len(text) > longest || text == "." || text == ".." || strings.ContainsAny(text, "/:") || strings.ContainsFunc(text, blankOrControl) {
		return fmt.Errorf("not the name of an interface: write at most %d characters, without blanks, slashes and colons, as eth0", longest)
	}
	return nil
}

func blankOrControl(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// account is what useradd, and the directories of others, call an account.
var account = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.@\\ -]*[$]?$`)

// Account is the rule of accounts and groups, by name or number.
func Account(text string) error {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	if _, err := strconv.ParseUint(text, 10, 32); err == nil {
		return nil
	}
	digits := strings.Trim(text, "0123456789") == ""
	if digits || !account.MatchString(text) || strings.Contains(text, " ") {
		return errors.New("neither a name nor a number of an account or group: write it as www-data or 33")
	}
	return nil
}

// Sec is the rule of names of sec objects: web and ./sec/web are in the
// namespace of the object that names them.
func Sec(text string) error { return reference(text, object.KindSec) }

// Secret is the rule of what holds a secret: a sec object, or one of its keys as
// "from <sec> key <name>".
func Secret(text string) error {
	words := strings.Fields(text)
	if len(words) == 4 && words[0] == "from" && words[2] == "key" {
		return Sec(words[1])
	}
	if len(words) > 1 {
		return errors.New("not the place of a secret: write a sec object as system/sec/name, or from system/sec/name key password")
	}
	return Sec(text)
}

// Vol is the rule of names of vol objects, whose kind may be left out.
func Vol(text string) error {
	if namespace, name, ok := strings.Cut(text, "/"); ok && !strings.Contains(name, "/") && reference(text, object.KindVol) != nil {
		text = namespace + "/" + string(object.KindVol) + "/" + name
	}
	return reference(text, object.KindVol)
}

func reference(text string, kind object.Kind) error {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	p := object.Path{Namespace: object.RootNamespace, Kind: kind, Name: text}
	err := p.Validate()
	if strings.Contains(text, "/") {
		p, err = object.ParseRelative(text, object.RootNamespace)
	}
	if err != nil {
		return err
	}
	if p.Kind != kind {
		return fmt.Errorf("not a %s: write it as namespace/%[1]s/name", kind)
	}
	return nil
}

// cpus is a list of numbers and ranges, as control groups have them.
var cpus = regexp.MustCompile(`^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$`)

// Numbers is the rule of sets of processors, or of memory nodes.
func Numbers(text string) error {
	bad := errors.New("not a set of numbers: write numbers and ranges with commas, as 0-2,5")
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	if !cpus.MatchString(text) {
		return bad
	}
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		a, errA := strconv.Atoi(low)
		b, errB := strconv.Atoi(high)
		if errA != nil || ranged && (errB != nil || b < a) {
			return bad
		}
	}
	return nil
}

// quota is a share of the processors.
var quota = regexp.MustCompile(`^[0-9]+%?(@([0-9]+|all))?$`)

// longestQuota keeps the numbers of a quota readable.
const longestQuota = 16

// Quota is the rule of shares of the processors.
func Quota(text string) error {
	text = strings.TrimSpace(text)
	if text == "" || len(text) <= longestQuota && quota.MatchString(text) && !strings.HasSuffix(text, "@0") {
		return nil
	}
	return errors.New("not a share of processors: write a percentage of one as 50%, of several as 50%@2, of all as 50%@all")
}

// Amount is the rule of what may be a number, a size or a share of processors.
func Amount(text string) error {
	if text == "" || Quota(text) == nil && !strings.HasSuffix(text, "@all") {
		return nil
	}
	if _, err := config.ParseSize(text); err != nil {
		return errors.New("not an amount: write a number, a size as 16g, or a share of processors as 800%")
	}
	return nil
}

// Variables is the rule of variables that take the value of keys.
func Variables(text string) error {
	items, err := config.ParseShlex(text)
	if err != nil {
		return err
	}
	for _, item := range items {
		variable, source, named := strings.Cut(item, "=")
		if !named {
			source = variable
		}
		name, key, ok := strings.Cut(source, "/")
		if !ok || name == "" || key == "" || variable == "" {
			return fmt.Errorf("%q is neither VAR=name/key nor name/key", item)
		}
	}
	return nil
}

// Among is the rule of a few words, where [Keyword.OneOf] would say more than the
// reference does.
func Among(words ...string) func(text string) error {
	return func(text string) error {
		if text = strings.TrimSpace(text); text == "" || slices.Contains(words, text) {
			return nil
		}
		return fmt.Errorf("not one of %s%s", strings.Join(words, ", "), didYouMean(nearest(text, words)))
	}
}
