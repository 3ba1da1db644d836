package compute_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/holdfast-ops/holdfast/internal/koc/compute"
	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
)

func TestSSHGetsAnAddress(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte("#!/bin/sh\necho ssh \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	for line, want := range map[string]string{
		"server ssh web1":                                 "ssh 172.24.4.21 -l admin",
		"server ssh --private web1":                       "ssh 10.0.0.9 -l admin",
		"server ssh --address-type lan web1":              "ssh fd00::1 -l admin",
		"server ssh -6 --address-type fixed web1":         "ssh fd00::1 -l admin",
		"server ssh web1 -- -l debian -v uptime":          "ssh 172.24.4.21 -l debian -v uptime",
		"server ssh -l cirros -p 2222 -i key -o A=b web1": "ssh 172.24.4.21 -p 2222 -i key -o A=b -l cirros",
	} {
		out, err := koctest.Run(t, compute.Commands(), stock(), koctest.Case{Line: line})
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if strings.TrimSpace(out) != want {
			t.Errorf("%s runs %q, want %q", line, out, want)
		}
	}
	_, err := koctest.Run(t, compute.Commands(), stock(), koctest.Case{Line: "server ssh -6 web1"})
	if err == nil || !strings.Contains(err.Error(), "no public address of IPv6; it has ") {
		t.Errorf("an address that there is none of: %v", err)
	}
}

func TestPasswordsAreDecrypted(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := rsa.EncryptPKCS1v15(rand.Reader, &key.PublicKey, []byte("pass word")) //nolint:staticcheck // as cloud-init does
	if err != nil {
		t.Fatal(err)
	}
	plain := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	block, err := ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte("open"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	locked := pem.EncodeToMemory(block)
	for name, text := range map[string][]byte{"plain": plain, "locked": locked} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	api := `GET compute /servers/server-web1/os-server-password = {"password":"` + base64.StdEncoding.EncodeToString(sealed) + `"}`
	run(t, []koctest.Case{
		{Line: "server password show -f value web1 --private-key " + filepath.Join(dir, "plain"), API: api, Out: "pass word"},
		{Line: "server password show -f value web1 --private-key -", Stdin: string(plain), API: api, Out: "pass word"},
		{Line: "server password show -f value web1 --private-key " + filepath.Join(dir, "locked"), Stdin: "open\n", API: api, Out: "pass word"},
		{Line: "server password show -f value web1 --private-key " + filepath.Join(dir, "locked"), Stdin: "shut\n", Err: "wrong passphrase"},
		{Line: "server password show -f value web1 --private-key -", Stdin: string(locked), Err: "give the key as a file"},
		{Line: "server password show -f value web1 --private-key " + dir + "/none", Err: "no such file"},
	})
}
