package compute

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
	"github.com/holdfast-ops/holdfast/internal/koc/sshkey"
)

func serverPasswordShow() command.Command {
	return command.Command{
		Short: "Show the password of the administrator that a server has reported",
		Long: "The server has encrypted it with the public key of its keypair. Without --private-key it is shown so, in base64. " +
			"A passphrase of the key is asked for on the terminal, or is the first line of standard input.",
		Args:    []command.Arg{serverArg("look at")},
		Flags:   []command.Flag{{Name: "private-key", Value: "<file>", Koc: true, Help: "Decrypt it with the private key of this file, - for standard input"}},
		Output:  command.Shown,
		NoWatch: true,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			var key *rsa.PrivateKey
			if c.Given("private-key") {
				if key, err = readKey(c, c.Text("private-key")); err != nil {
					return fmt.Errorf("private key %s: %w", c.Text("private-key"), err)
				}
			}
			id, err := s.id(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			o, err := s.ask(ctx, cloud.Request{Path: serverPath(id, "os-server-password")})
			if err != nil {
				return err
			}
			password := o.Text("password")
			if password == "" {
				return fmt.Errorf("server %q has reported no password", c.Text("<server>"))
			}
			if key != nil {
				if password, err = decrypt(key, password); err != nil {
					return err
				}
			}
			return c.Show([]render.Field{{Name: "password", Value: password}})
		},
	}
}

// readKey reads a private key of RSA: nothing else can decrypt.
func readKey(c *command.Call, file string) (*rsa.PrivateKey, error) {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(io.LimitReader(c.Streams.In, 1<<20))
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	key, err := sshkey.RSA(text, nil)
	if errors.Is(err, sshkey.ErrLocked) {
		if file == "-" && !c.Streams.InTTY {
			return nil, errors.New("it has a passphrase, which cannot be asked for while the key comes from standard input: give the key as a file")
		}
		passphrase, asked := c.Secret("Passphrase of the private key: ")
		if asked != nil {
			return nil, asked
		}
		return sshkey.RSA(text, []byte(passphrase))
	}
	return key, err
}

func decrypt(key *rsa.PrivateKey, password string) (string, error) {
	sealed, err := base64.StdEncoding.DecodeString(password)
	if err != nil {
		return "", fmt.Errorf("the password that the server has reported is not in base64: %w", err)
	}
	plain, err := rsa.DecryptPKCS1v15(nil, key, sealed) //nolint:staticcheck // it is how cloud-init encrypts
	if err != nil {
		return "", errors.New("the password cannot be decrypted: is this the key of the keypair that the server was made with?")
	}
	return string(plain), nil
}
