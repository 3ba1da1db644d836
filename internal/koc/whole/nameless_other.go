//go:build !linux

package whole

import (
	"errors"
	"io/fs"
	"os"
)

func nameless(string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func name(*os.File, string) error { return errors.ErrUnsupported }
