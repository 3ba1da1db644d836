package compute

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
	"github.com/holdfast-ops/holdfast/internal/koc/whole"
)

func keypairCommands() []command.Entry {
	return []command.Entry{
		{Name: "keypair create", Build: keypairCreate},
		{Name: "keypair delete", Build: keypairDelete},
		{Name: "keypair list", Build: keypairList},
		{Name: "keypair show", Build: keypairShow},
	}
}

// keypairs opens the compute service for keypairs, of a user when --user is given.
func keypairs(ctx context.Context, c *command.Call) (s *servers, q url.Values, err error) {
	if s, err = openServers(ctx, c, "2.10"); err != nil {
		return nil, nil, err
	}
	if c.Text("user") == "" {
		return s, url.Values{}, nil
	}
	if err := s.needs("2.10", "--user"); err != nil {
		return nil, nil, err
	}
	id, err := noun.User().In(ctx, c, c.Text("user"), c.Text("user-domain"))
	return s, url.Values{"user_id": {id}}, err
}

func userFlags(help string) []command.Flag {
	return []command.Flag{
		{Name: "user", Value: "<user>", Help: help + ", by name or id (admin only, microversion 2.10)", Complete: "user"},
		{Name: "user-domain", Value: "<user-domain>", Help: "Domain of the user, by name or id, when its name is not unique", Complete: "domain"},
	}
}

func keypairPath(name string) string { return "/os-keypairs/" + url.PathEscape(name) }

// keypairFields are what is shown of a keypair, without what is secret or long.
// Upstream takes the name for the id, and shows a private key that is never there.
func keypairFields(c *command.Call, o noun.Object, made bool) []render.Field {
	columns := []noun.Column{
		{Title: "created_at", Cell: render.StampCell},
		{Title: "fingerprint"},
		{Title: "id", Attr: "name"},
		{Title: "is_deleted", Attr: "deleted"},
		{Title: "name"},
	}
	if !made {
		columns = append(columns, noun.Column{Title: "private_key", Compat: true, From: func(noun.Object) any { return nil }})
	}
	columns = append(columns, noun.Column{Title: "type", From: keyType}, noun.Column{Title: "user_id"})
	return noun.Fields{Columns: columns}.Fields(c, o)
}

// keyType is the type of a key: before microversion 2.2 there was one.
func keyType(o noun.Object) any {
	if v, there := o.Lookup("type"); there {
		return v
	}
	return "ssh"
}

func keypairCreate() command.Command {
	return command.Command{
		Short: "Create a keypair, or register the public key of one",
		Long: "Without --public-key a new pair is made, by the service or, where that does not do it any more (microversion 2.92), here. " +
			"Its private key is printed, or written to the file of --private-key, which only its owner may read. It is kept nowhere else.",
		Args: []command.Arg{{Name: "<name>", Help: "Name of the new keypair"}},
		Flags: append([]command.Flag{
			{Name: "public-key", Value: "<file>", Help: "File with the public key to register"},
			{Name: "private-key", Value: "<file>", Help: "File to write the new private key to"},
			{Name: "type", Value: "<type>", Choices: []string{"ssh", "x509"}, Help: "Type of the key (microversion 2.2)"},
		}, userFlags("Whose keypair it is")...),
		Exclusive: []string{"public-key private-key"},
		Output:    command.Created,
		Run:       createKeypair,
	}
}

func createKeypair(ctx context.Context, c *command.Call) error {
	body := object("name", c.Text("<name>"))
	if file := c.Text("public-key"); file != "" {
		text, err := os.ReadFile(home(c, file))
		if err != nil {
			return fmt.Errorf("public key: %w", err)
		}
		body.Set("public_key", string(text))
	}
	s, q, err := keypairs(ctx, c)
	if err != nil {
		return err
	}
	if err := s.needsGiven("2.2", "type"); err != nil {
		return err
	}
	if c.Given("type") {
		body.Set("type", c.Text("type"))
	}
	if user := q.Get("user_id"); user != "" {
		body.Set("user_id", user)
	}
	private, err := s.makeKey(&body)
	if err != nil {
		return err
	}
	var file *whole.File
	if path := c.Text("private-key"); path != "" {
		// It is made sure that the file can be written before there is something to lose.
		file, err = whole.Create(home(c, path), 0o600, c.Compat())
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("private key: %w, and a private key may be in it: move it away first", err)
		}
		if err != nil {
			return fmt.Errorf("private key: %w", err)
		}
		defer file.Discard()
	}
	answer, err := s.ask(ctx, cloud.Request{Method: http.MethodPost, Path: "/os-keypairs", Body: object("keypair", body)})
	if err != nil {
		return err
	}
	o := answer.Object("keypair")
	if private == "" {
		private = o.Text("private_key")
	}
	switch {
	case file != nil:
		_, err := io.WriteString(file, private)
		if err == nil {
			err = file.Sync()
		}
		if err == nil {
			err = file.Commit()
		}
		if err != nil {
			return fmt.Errorf("the keypair is made, but its private key is lost: delete it and make another: %w", err)
		}
	case c.Text("public-key") == "":
		return printKey(c, private)
	}
	return c.Show(keypairFields(c, o, true))
}

// makeKey makes the pair of a keypair when there is no public key and the service
// makes none. It returns the private key, "" when the service makes it.
func (s *servers) makeKey(body *noun.Object) (string, error) {
	if s.c.Text("public-key") != "" {
		return "", nil
	}
	s.Service = s.Default("2.10") // which still makes keys
	if !s.atLeast("2.92") {
		return "", nil
	}
	if s.c.Text("type") == "x509" {
		return "", errors.New("no service makes x509 keys from compute API microversion 2.92 on: give --public-key, or ask for 2.91 (--os-compute-api-version)")
	}
	public, private, err := newKey(s.c.Text("<name>"))
	body.Set("public_key", public)
	return private, err
}

// printKey prints a key and nothing else. Upstream also shows the fields that are
// left then, which are none.
func printKey(c *command.Call, text string) error {
	c.Printf("%s", text)
	if c.Compat() {
		return c.Show(nil)
	}
	return nil
}

// home is a path whose ~/ is the home of the user.
func home(c *command.Call, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && c.Env("HOME") != "" {
		return filepath.Join(c.Env("HOME"), rest)
	}
	return path
}

// newKey makes a pair of Ed25519 keys in the formats of OpenSSH.
func newKey(comment string) (public, private string, err error) {
	open, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", err
	}
	var check [4]byte
	if _, err := rand.Read(check[:]); err != nil {
		return "", "", err
	}
	const kind = "ssh-ed25519"
	blob := wire(nil, kind, string(open))
	inner := append(append([]byte{}, check[:]...), check[:]...)
	inner = wire(inner, kind, string(open), string(secret), comment)
	for i := byte(1); len(inner)%8 != 0; i++ {
		inner = append(inner, i)
	}
	outer := wire([]byte("openssh-key-v1\x00"), "none", "none", "")
	outer = binary.BigEndian.AppendUint32(outer, 1)
	outer = wire(outer, string(blob), string(inner))
	text := pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: outer})
	return kind + " " + base64.StdEncoding.EncodeToString(blob) + "\n", string(text), nil
}

// wire appends texts as the SSH protocol writes them.
func wire(b []byte, texts ...string) []byte {
	for _, text := range texts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(text))) //nolint:gosec // they are short
		b = append(b, text...)
	}
	return b
}

func keypairDelete() command.Command {
	return command.Command{
		Short: "Delete keypairs",
		Long:  "What is deleted is the public key in the service. Servers that have it keep it.",
		Args:  []command.Arg{{Name: "<key>", Help: "The keypairs to delete, by name", Many: true, Complete: "keypair"}},
		Flags: append(userFlags("Whose keypairs they are"), command.Parallel()),
		Run: func(ctx context.Context, c *command.Call) error {
			s, q, err := keypairs(ctx, c)
			if err != nil {
				return err
			}
			return command.Each(ctx, c, "keypair", "delete", c.Texts("<key>"), func(ctx context.Context, ref string) error {
				return s.Do(ctx, cloud.Request{Method: http.MethodDelete, Path: keypairPath(ref), Query: q})
			})
		},
	}
}

func keypairList() command.Command {
	return command.Command{
		Short: "List keypairs",
		Flags: append(append(userFlags("Those of this user"),
			command.Flag{Name: "project", Value: "<project>", Help: "Those of the users of this project, by name or id (admin only, microversion 2.10)", Complete: "project"},
			noun.ProjectDomainFlag(),
		), noun.PageFlags("keypair")...),
		Exclusive: []string{"user project"},
		Output:    command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			s, q, err := keypairs(ctx, c)
			if err != nil {
				return err
			}
			for _, flag := range [...]string{"limit", "marker"} {
				if c.Given(flag) && c.Compat() {
					s.Service = s.Default("2.35")
				}
				if err := s.needsGiven("2.35", flag); err != nil {
					return err
				}
			}
			limit := max(c.Int("limit"), 0)
			if limit > 0 {
				q.Set("limit", c.Text("limit"))
			}
			if marker := c.Text("marker"); marker != "" {
				q.Set("marker", marker)
			}
			columns := []noun.Column{{Title: "Name", Attr: "keypair.name"}, {Title: "Fingerprint", Attr: "keypair.fingerprint"}}
			if s.atLeast("2.2") {
				columns = append(columns, noun.Column{Title: "Type", From: func(o noun.Object) any { return keyType(o.Object("keypair")) }})
			}
			if c.Text("project") == "" {
				return noun.PrintList(c, columns, noun.Pages(ctx, s.Service, "/os-keypairs", q, "keypairs", limit, nil))
			}
			if c.Given("marker") {
				return command.Reject("--project excludes --marker: each user has a list of keypairs")
			}
			all, err := s.keypairsOfProject(ctx, q, limit)
			if err != nil {
				return err
			}
			return noun.PrintList(c, columns, noun.Each(all))
		},
	}
}

// keypairsOfProject are the keypairs of all users that have a role in a project.
func (s *servers) keypairsOfProject(ctx context.Context, q url.Values, limit int) ([]noun.Object, error) {
	if err := s.needs("2.10", "--project"); err != nil {
		return nil, err
	}
	project, err := noun.ProjectID(ctx, s.c)
	if err != nil {
		return nil, err
	}
	identity, err := s.c.Cloud.Service(ctx, "identity")
	if err != nil {
		return nil, err
	}
	var all []noun.Object
	seen := map[string]bool{}
	roles := url.Values{"scope.project.id": {project}, "effective": {""}}
	for role, err := range noun.Pages(ctx, identity, "/role_assignments", roles, "role_assignments", 0, nil) {
		if err != nil {
			return nil, err
		}
		user := role.Text("user.id")
		if user == "" || seen[user] {
			continue
		}
		seen[user] = true
		q.Set("user_id", user)
		for o, err := range noun.Pages(ctx, s.Service, "/os-keypairs", q, "keypairs", limit, nil) {
			if err != nil {
				return nil, err
			}
			if all = append(all, o); limit > 0 && len(all) == limit {
				return all, nil
			}
		}
	}
	return all, nil
}

func keypairShow() command.Command {
	return command.Command{
		Short: "Show a keypair, or its public key",
		Args:  []command.Arg{{Name: "<key>", Help: "The keypair to show, by name", Complete: "keypair"}},
		Flags: append([]command.Flag{
			{Name: "public-key", Help: "Print the public key alone"},
		}, userFlags("Whose keypair it is")...),
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			s, q, err := keypairs(ctx, c)
			if err != nil {
				return err
			}
			answer, err := s.ask(ctx, cloud.Request{Path: keypairPath(c.Text("<key>")), Query: q})
			if err != nil {
				return err
			}
			o := answer.Object("keypair")
			if c.Is("public-key") {
				return printKey(c, o.Text("public_key"))
			}
			return c.Show(keypairFields(c, o, false))
		},
	}
}
