package datastore

import (
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// KeyNotFoundError says that an object has no such key.
type KeyNotFoundError struct {
	Path object.Path
	Key  string
}

// Error names the object and the key.
func (e *KeyNotFoundError) Error() string { return fmt.Sprintf("%s: no key %s", e.Path, e.Key) }

// ExitCode is that of a thing which does not exist.
func (e *KeyNotFoundError) ExitCode() int { return 2 }

// KeyExistsError refuses to add a key which is there already.
type KeyExistsError struct {
	Path object.Path
	Key  string
}

// Error says what to do instead.
func (e *KeyExistsError) Error() string {
	return fmt.Sprintf("%s: key %s exists already: change it, or remove it first", e.Path, e.Key)
}

// KeySizeError refuses a value larger than node.max_key_size.
type KeySizeError struct {
	Path        object.Path
	Key         string
	Size, Limit int64
}

// Error says both sizes.
func (e *KeySizeError) Error() string {
	return fmt.Sprintf("%s: key %s: %d bytes are more than node.max_key_size, %s: raise it, or keep the value in a volume",
		e.Path, e.Key, e.Size, config.FormatSize(e.Limit))
}

// RefusedError says that the configuration of an object cannot hold a value: it
// would be too large.
type RefusedError struct {
	Path object.Path
	Key  string
	Err  error
}

// Error names the key.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s: key %s: %v", e.Path, e.Key, e.Err) }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// KeyNameError refuses the name of a key.
type KeyNameError struct {
	Key    string
	Reason string
}

// Error quotes the name, which may hold anything.
func (e *KeyNameError) Error() string {
	return fmt.Sprintf("key name %q cannot be used: %s", e.Key, e.Reason)
}

// NoKeysError refuses the objects that hold no key.
type NoKeysError struct{ Path object.Path }

// Error says which objects do.
func (e *NoKeysError) Error() string {
	return fmt.Sprintf("%s: objects of kind %s hold no key: only cfg, sec and usr do", e.Path, e.Path.Kind)
}

// PasswordError refuses to give a password back.
type PasswordError struct{ Path object.Path }

// Error says what can be done instead.
func (e *PasswordError) Error() string {
	return fmt.Sprintf("%s: key %s is kept as a hash, which gives no password back: set another one with key change", e.Path, passwordKey)
}
