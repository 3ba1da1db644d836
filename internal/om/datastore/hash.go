package datastore

import "github.com/holdfast-ops/holdfast/internal/om/object"

// PasswordHash returns what is kept of the password of a user, for those who
// compare passwords themselves and follow their changes.
func (d *Data) PasswordHash(p object.Path) (hash string, err error) {
	err = d.View(p, func(tx *Tx) error {
		kept, err := tx.open(passwordKey)
		hash = string(kept)
		return err
	})
	return hash, err
}
