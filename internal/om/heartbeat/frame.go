package heartbeat

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/secret"
)

// A frame is a header in clear, then a sealed payload:
//
//	"HFHB" | version 1 | flags 1 | key version 4 | cluster 8 | incarnation 16 | counter 8 |
//	length 1, sender | length 1, heartbeat | AES-256-GCM of the payload
//
// The header is authenticated with the payload. The key is derived (HKDF-SHA256)
// from the cluster secret for one sender in one incarnation, in which a counter is
// never used twice: it is the nonce. The name of the heartbeat is in there so that
// what was sent on one is no beat on another.
const (
	magic        = "HFHB"
	frameVersion = 1
	isCompressed = 1

	fixedHeader = len(magic) + 1 + 1 + 4 + 8 + 16 + 8
	maxName     = 255
	tagSize     = 16

	// MaxFrame bounds a frame.
	MaxFrame = 1 << 20
)

// Header is what a frame says of itself before it is opened. Nothing of it is
// true until then.
type Header struct {
	Sender      string
	Heartbeat   string // "hb#1"
	Incarnation Incarnation
	Counter     uint64
	Key         string // version of the key

	cluster    string
	compressed bool
	clear      []byte // the header as it came: what is authenticated
	sealed     []byte
}

// Parse reads the header of a frame, which it refers to. It allocates nothing that
// the frame asks for.
func Parse(frame []byte) (Header, error) {
	var h Header
	switch {
	case len(frame) > MaxFrame:
		return h, refusal(Malformed, "", "%d bytes, more than the %d of a frame", len(frame), MaxFrame)
	case len(frame) < fixedHeader+2+tagSize || string(frame[:4]) != magic:
		return h, refusal(Malformed, "", "%d bytes that are no frame", len(frame))
	case frame[4] != frameVersion:
		return h, refusal(Malformed, "", "version %d of frames, this release knows %d", frame[4], frameVersion)
	case frame[5]&^isCompressed != 0:
		return h, refusal(Malformed, "", "unknown flags %#x", frame[5])
	}
	h.compressed = frame[5] == isCompressed
	h.Key = hex.EncodeToString(frame[6:10])
	h.cluster = string(frame[10:18])
	h.Incarnation = Incarnation(hex.EncodeToString(frame[18:34]))
	h.Counter = binary.BigEndian.Uint64(frame[34:42])
	rest := frame[fixedHeader:]
	for _, name := range []*string{&h.Sender, &h.Heartbeat} {
		n := int(rest[0])
		if len(rest) < 1+n+1+tagSize {
			return Header{}, refusal(Malformed, "", "a name longer than the frame")
		}
		*name, rest = string(rest[1:1+n]), rest[1+n:]
	}
	h.clear, h.sealed = frame[:len(frame)-len(rest)], rest
	return h, nil
}

// Keyring holds the keys of a cluster, made of its secret and of those it had
// before. It is immutable but for what it remembers: it is not safe for concurrent
// use.
type Keyring struct {
	cluster string // as it is in frames
	id      string
	keys    []master // the newest first

	known map[cipherOf]cipher.AEAD // of senders that were believed
}

type master struct {
	version string
	secret  secret.String
}

type cipherOf struct {
	key, sender string
	incarnation Incarnation
}

// maxKnown bounds the ciphers a keyring remembers; it begins again after.
const maxKnown = 1024

// NewKeyring returns the keys of the cluster of an id. The first secret is the
// current one.
func NewKeyring(cluster string, secrets ...secret.String) (*Keyring, error) {
	sum := sha256.Sum256([]byte("holdfast cluster " + cluster))
	k := &Keyring{cluster: string(sum[:8]), id: cluster, known: map[cipherOf]cipher.AEAD{}}
	for _, s := range secrets {
		version, err := secret.Derive([]byte(s.Reveal()), "holdfast heartbeat version")
		if err != nil {
			return nil, err
		}
		k.keys = append(k.keys, master{hex.EncodeToString(version[:4]), s})
	}
	return k, nil
}

// Versions lists the versions of the keys, the current one first.
func (k *Keyring) Versions() []string {
	all := make([]string, len(k.keys))
	for i, m := range k.keys {
		all[i] = m.version
	}
	return all
}

// Choose returns the newest key that everybody who is heard can open, each told by
// the versions it knows: during a change of the secret that is the former one until
// the last of them has the new one. With nothing in common it is the newest.
func (k *Keyring) Choose(heard [][]string) string {
	if len(k.keys) == 0 {
		return ""
	}
	for _, m := range k.keys {
		common := true
		for _, versions := range heard {
			has := false
			for _, v := range versions {
				has = has || v == m.version
			}
			common = common && has
		}
		if common {
			return m.version
		}
	}
	return k.keys[0].version
}

func (k *Keyring) cipher(of cipherOf) (aead cipher.AEAD, known bool, err error) {
	if aead := k.known[of]; aead != nil {
		return aead, true, nil
	}
	for _, m := range k.keys {
		if m.version != of.key {
			continue
		}
		key, err := secret.Derive([]byte(m.secret.Reveal()), fmt.Sprintf("holdfast heartbeat 1 %s %s %s", k.id, of.sender, of.incarnation))
		if err != nil {
			return nil, false, err
		}
		block, err := aes.NewCipher(key[:])
		if err != nil {
			return nil, false, err
		}
		aead, err = cipher.NewGCM(block)
		return aead, false, err
	}
	return nil, false, nil
}

func (k *Keyring) remember(of cipherOf, aead cipher.AEAD) {
	if len(k.known) >= maxKnown {
		clear(k.known)
	}
	k.known[of] = aead
}

// Seal makes a frame of a payload that [Encode] made. The counter must never have
// been used before by the sender in its incarnation.
func (k *Keyring) Seal(h Header, p Payload) ([]byte, error) {
	incarnation, err := hex.DecodeString(string(h.Incarnation))
	version, versionErr := hex.DecodeString(h.Key)
	if err != nil || len(incarnation) != 16 || versionErr != nil || len(version) != 4 || len(h.Sender) > maxName || len(h.Heartbeat) > maxName || h.Sender == "" {
		return nil, fmt.Errorf("a frame of %q on %q in the incarnation %q with the key %q cannot be", h.Sender, h.Heartbeat, h.Incarnation, h.Key)
	}
	of := cipherOf{h.Key, h.Sender, h.Incarnation}
	aead, known, err := k.cipher(of)
	if err != nil {
		return nil, err
	}
	if aead == nil {
		return nil, fmt.Errorf("no key of version %s", h.Key)
	}
	if !known {
		k.remember(of, aead)
	}
	size := fixedHeader + 2 + len(h.Sender) + len(h.Heartbeat) + len(p.data) + tagSize
	if size > MaxFrame {
		return nil, fmt.Errorf("%d bytes, more than the %d of a frame", size, MaxFrame)
	}
	frame := make([]byte, 0, size)
	frame = append(frame, magic...)
	frame = append(frame, frameVersion, 0)
	if p.compressed {
		frame[5] = isCompressed
	}
	frame = append(frame, version...)
	frame = append(frame, k.cluster...)
	frame = append(frame, incarnation...)
	frame = binary.BigEndian.AppendUint64(frame, h.Counter)
	frame = append(frame, byte(len(h.Sender))) //nolint:gosec // at most maxName
	frame = append(frame, h.Sender...)
	frame = append(frame, byte(len(h.Heartbeat))) //nolint:gosec // at most maxName
	frame = append(frame, h.Heartbeat...)
	return aead.Seal(frame, nonce(h.Counter), p.data, frame), nil
}

// Open returns the message of a frame, or a [RefusedError].
func (k *Keyring) Open(h Header) (*Message, error) {
	if h.cluster != k.cluster {
		return nil, refusal(Foreign, h.Sender, "it is of another cluster")
	}
	of := cipherOf{h.Key, h.Sender, h.Incarnation}
	aead, known, err := k.cipher(of)
	if err != nil {
		return nil, err
	}
	if aead == nil {
		return nil, refusal(UnknownKey, h.Sender, "it is sealed with a key of version %s, known here: %v: the secret of the cluster is not the same on both nodes", h.Key, k.Versions())
	}
	data, err := aead.Open(nil, nonce(h.Counter), h.sealed, h.clear)
	if err != nil {
		return nil, refusal(Forged, h.Sender, "it does not open: it was altered, or sealed with another secret")
	}
	if !known {
		k.remember(of, aead)
	}
	return decode(h, data)
}

func nonce(counter uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 4, 12), counter)
}
