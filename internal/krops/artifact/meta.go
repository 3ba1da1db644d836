package artifact

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Meta says where the content of an artifact comes from.
type Meta struct {
	SHA    string // of the commit
	Ref    string // branch, or detached
	Source string // URL of the repository
}

// detached is the ref of a checkout that is on no branch.
const detached = "detached"

// giveAll is the way out for a checkout Git does not know.
const giveAll = "without Git, set all of KROPS_OCI_GIT_SHA, KROPS_OCI_GIT_REF and KROPS_OCI_SOURCE_URL"

// Revision is how Flux writes a commit.
func (m Meta) Revision() string {
	algorithm := "sha1"
	if len(m.SHA) == 64 {
		algorithm = "sha256"
	}
	return m.Ref + "@" + algorithm + ":" + m.SHA
}

// check refuses metadata that is given in part.
func (m Meta) check() error {
	var missing []string
	for _, field := range []struct{ name, value string }{
		{"KROPS_OCI_GIT_SHA", m.SHA}, {"KROPS_OCI_GIT_REF", m.Ref}, {"KROPS_OCI_SOURCE_URL", m.Source},
	} {
		if field.value == "" {
			missing = append(missing, field.name)
		}
		if strings.ContainsFunc(field.value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("%s has a control character in it", field.name)
		}
	}
	if len(missing) > 0 {
		return errors.New("the metadata of the artifact is incomplete: " + strings.Join(missing, " and ") +
			" must be set too, or none of KROPS_OCI_GIT_SHA, KROPS_OCI_GIT_REF and KROPS_OCI_SOURCE_URL")
	}
	return nil
}

// withoutPassword drops what a URL says of who may read it: whoever can read the
// artifact can read its annotations. The user of ssh is part of the address.
func withoutPassword(source string) string {
	u, err := url.Parse(source)
	if err != nil || u.User == nil {
		return source
	}
	user := u.User.Username()
	u.User = nil
	if strings.HasSuffix(u.Scheme, "ssh") && user != "" {
		u.User = url.User(user)
	}
	return u.String()
}
