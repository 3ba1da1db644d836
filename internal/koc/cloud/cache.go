package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/whole"
)

// spare is how long a cached token must still be valid to be used.
const spare = time.Minute

// cacheFile is where the token of the identity and scope is kept, "" for nowhere.
// Secrets are no part of its name: they could be guessed from it.
func (c *Cloud) cacheFile() string {
	if !c.on(c.options.TokenCache, "KOC_TOKEN_CACHE") || !c.renewable() {
		return ""
	}
	dir := c.options.Env("XDG_CACHE_HOME")
	if dir == "" {
		if dir = home("~/.cache", c.options.Env); dir[0] == '~' {
			return ""
		}
	}
	s := c.settings
	h := sha256.New()
	_, _ = h.Write([]byte("koc token 1\x00" + s.authType() + "\x00" + s.text("default_domain")))
	for _, k := range keys[:] {
		if k.auth && !k.secret {
			_, _ = h.Write([]byte("\x00" + k.name + "\x00" + s.text(k.name)))
		}
	}
	return filepath.Join(dir, "koc", "token-"+hex.EncodeToString(h.Sum(nil)[:16])+".json")
}

// cached is the token of an earlier run, nil when there is none that can be used.
func (c *Cloud) cached() *Token {
	name := c.cacheFile()
	if name == "" {
		return nil
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || foreign(info) {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var t Token
	if json.Unmarshal(text, &t) != nil || t.ID == "" || time.Until(t.Expires) < spare {
		return nil
	}
	return &t
}

// keep writes the token for later runs. Not to be able to is no failure of the run.
func (c *Cloud) keep(t *Token) {
	name := c.cacheFile()
	if name == "" {
		return
	}
	text, err := json.Marshal(t)
	if err == nil {
		err = replaceFile(name, text)
	}
	if err != nil {
		c.warn("the token is not cached: %v", err)
	}
}

// replaceFile writes a file that nobody else may read, all of it or nothing.
func replaceFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := whole.Create(name, 0o600, true)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Commit()
}

// forget drops a refused token.
func (c *Cloud) forget() {
	c.token = nil
	if name := c.cacheFile(); name != "" {
		_ = os.Remove(name)
	}
}

// foreign reports whether others can read or write a file.
func foreign(info os.FileInfo) bool { return os.PathSeparator == '/' && info.Mode().Perm()&0o077 != 0 }
