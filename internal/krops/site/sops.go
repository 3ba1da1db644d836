package site

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-ops/holdfast/internal/krops/sops"
)

// decrypted returns the plain text of an encrypted file of the repository. It is
// never written anywhere.
func (s *Site) decrypted(name string) ([]byte, error) {
	file := filepath.Join(s.Root, name)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the encrypted manifest: %w", err)
	}
	// A path of a variable is that of the caller.
	keyFile := s.Settings.SopsAgeKeyFile
	if !filepath.IsAbs(keyFile) {
		keyFile = filepath.Join(s.Dir, keyFile)
	}
	secret, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the age key for %s (SOPS_AGE_KEY_FILE): %w", file, err)
	}
	key, err := sops.ParseKey(secret)
	if err != nil {
		return nil, fmt.Errorf("read the age key %s: %w", keyFile, err)
	}
	plain, err := sops.Decrypt(text, key)
	if err != nil {
		return nil, fmt.Errorf("decrypt %s with %s: %w", file, keyFile, err)
	}
	return plain, nil
}
