package move

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
)

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// unpack reads a list that was too long to be stored as it is.
func unpack(text string) (string, error) {
	const most = 64 << 20
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("%w: no base64", errGarbled)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fmt.Errorf("%w: no gzip", errGarbled)
	}
	list, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errGarbled, err)
	}
	return string(list), nil
}
