package config

import (
	"errors"
	"fmt"
	"strings"
)

// AgeKey is what the text of an age key file says of itself. The secret part is
// only known to be there.
type AgeKey struct {
	Public  string
	Missing []string // parts the file lacks, in the order of the format
}

// ReadAgeKey looks at the text of an age key file.
func ReadAgeKey(text string) AgeKey {
	var created, private bool
	var key AgeKey
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		created = created || strings.HasPrefix(line, "# created:")
		private = private || strings.HasPrefix(line, "AGE-SECRET-KEY-")
		if public, ok := strings.CutPrefix(line, "# public key: "); ok && key.Public == "" {
			key.Public = strings.TrimSpace(public)
		}
	}
	if !created {
		key.Missing = append(key.Missing, "# created: header")
	}
	if key.Public == "" {
		key.Missing = append(key.Missing, "# public key: comment")
	}
	if !private {
		key.Missing = append(key.Missing, "AGE-SECRET-KEY- line")
	}
	return key
}

// AgePublicKey returns the public key of a run: the one that is asked for, which
// must be that of the file when both are known.
func AgePublicKey(asked, file string) (string, error) {
	asked = strings.TrimSpace(asked)
	switch {
	case asked == "" && file == "":
		return "", errors.New("no age public key: the key file names none and AGE_PUBLIC_KEY is not set")
	case asked == "":
		return file, nil
	case file != "" && asked != file:
		return "", fmt.Errorf("AGE_PUBLIC_KEY is %s but the key file holds %s: Flux could not decrypt anything", asked, file)
	}
	return asked, nil
}
