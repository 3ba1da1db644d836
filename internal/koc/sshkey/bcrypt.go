package sshkey

import (
	"crypto/sha512"
	"encoding/binary"

	"golang.org/x/crypto/blowfish" //nolint:staticcheck // it is what OpenSSH encrypts keys with
)

// bcryptPBKDF derives key material from a passphrase as OpenSSH does: PBKDF2 with
// a hash made of Blowfish, and the bytes of its blocks interleaved.
func bcryptPBKDF(passphrase, salt []byte, rounds, size int) ([]byte, error) {
	const blockSize = 32
	blocks := (size + blockSize - 1) / blockSize
	key := make([]byte, blocks*blockSize)
	secret := sha512.Sum512(passphrase)
	for block := range blocks {
		counter := binary.BigEndian.AppendUint32(nil, uint32(block+1))
		hashed := sha512.Sum512(append(append([]byte{}, salt...), counter...))
		out, err := bcryptHash(secret[:], hashed[:])
		if err != nil {
			return nil, err
		}
		sum := append([]byte{}, out...)
		for range rounds - 1 {
			hashed = sha512.Sum512(out)
			if out, err = bcryptHash(secret[:], hashed[:]); err != nil {
				return nil, err
			}
			for i := range sum {
				sum[i] ^= out[i]
			}
		}
		for i, b := range sum {
			key[i*blocks+block] = b
		}
	}
	return key[:size], nil
}

// bcryptHash is the hash of one round.
func bcryptHash(secret, salt []byte) ([]byte, error) {
	const repeats = 64
	c, err := blowfish.NewSaltedCipher(secret, salt)
	if err != nil {
		return nil, err
	}
	for range repeats {
		blowfish.ExpandKey(salt, c)
		blowfish.ExpandKey(secret, c)
	}
	out := []byte("OxychromaticBlowfishSwatDynamite")
	for i := 0; i < len(out); i += blowfish.BlockSize {
		for range repeats {
			c.Encrypt(out[i:i+blowfish.BlockSize], out[i:i+blowfish.BlockSize])
		}
	}
	// The words come out in the order of little machines.
	for i := 0; i < len(out); i += 4 {
		out[i], out[i+1], out[i+2], out[i+3] = out[i+3], out[i+2], out[i+1], out[i]
	}
	return out, nil
}
