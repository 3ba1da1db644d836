package logbook

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"hash/fnv"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The index of a closed segment says, for each block of lines, when they were
// written and, by a Bloom filter, of which ids and objects they may be. It is only
// ever a shortcut: one that is missing, damaged or of another size is made again,
// and one that cannot be written is done without.
const (
	indexMagic = "omlogix1"
	bloomBytes = 256
	bloomKeys  = 4 // bits of a key
)

type block struct {
	Offset, Length int64
	First, Last    int64 // unix nanoseconds
	Bloom          [bloomBytes]byte
}

// indexHead comes before the blocks of an index.
type indexHead struct {
	Magic  [8]byte
	Size   int64 // of the segment
	Blocks int64
	Sum    uint32 // of the blocks
}

// terms are what the index knows of a line.
type terms struct {
	At   time.Time `json:"at"`
	Path string    `json:"path"`
	SID  string    `json:"sid"`
	EID  string    `json:"eid"`
	OID  string    `json:"oid"`
}

// blocks returns the index of a closed segment.
func (s *segment) blocks() ([]block, error) {
	name := s.name + indexed
	if known, ok := loadIndex(name, s.size); ok {
		return known, nil
	}
	made, err := s.index()
	if err != nil {
		return nil, err
	}
	// Whoever may only read the logs does without.
	_ = writeIndex(name, encodeIndex(made, s.size))
	return made, nil
}

// writeIndex waits for no disk: what a crash leaves is damaged, and made again.
func writeIndex(name string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(name), ".om.log.idx.")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(0o640), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

func loadIndex(name string, size int64) ([]block, bool) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	return decodeIndex(data, size)
}

// decodeIndex returns the blocks of an index of a segment of that size.
func decodeIndex(data []byte, size int64) ([]block, bool) {
	var head indexHead
	n, err := binary.Decode(data, binary.LittleEndian, &head)
	if err != nil || string(head.Magic[:]) != indexMagic || head.Size != size || head.Sum != crc32.ChecksumIEEE(data[n:]) {
		return nil, false
	}
	const each = 4*8 + bloomBytes
	if head.Blocks < 0 || int64(len(data)-n) != head.Blocks*each {
		return nil, false
	}
	blocks := make([]block, head.Blocks)
	if _, err := binary.Decode(data[n:], binary.LittleEndian, blocks); err != nil {
		return nil, false
	}
	for _, b := range blocks {
		if b.Offset < 0 || b.Length < 0 || b.Offset > size || b.Length > size-b.Offset {
			return nil, false
		}
	}
	return blocks, true
}

func encodeIndex(blocks []block, size int64) []byte {
	body, err := binary.Append(nil, binary.LittleEndian, blocks)
	if err != nil {
		return nil // of fixed size: it cannot be
	}
	head := indexHead{Size: size, Blocks: int64(len(blocks)), Sum: crc32.ChecksumIEEE(body)}
	copy(head.Magic[:], indexMagic)
	data, err := binary.Append(nil, binary.LittleEndian, head)
	if err != nil {
		return nil
	}
	return append(data, body...)
}

// index reads the whole segment.
func (s *segment) index() ([]block, error) {
	var blocks []block
	for end := s.size; end > 0; {
		lines, start, err := s.before(end)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, summarize(lines, start, end-start))
		end = start
	}
	slices.Reverse(blocks)
	return blocks, nil
}

func summarize(lines []byte, offset, length int64) block {
	b := block{Offset: offset, Length: length, First: math.MaxInt64, Last: math.MinInt64}
	for line := range bytes.Lines(lines) {
		var t terms
		if json.Unmarshal(line, &t) != nil {
			if json.Unmarshal(mend(line), &t) != nil {
				continue
			}
		}
		at := t.At.UnixNano()
		b.First, b.Last = min(b.First, at), max(b.Last, at)
		for name, value := range map[string]string{"path": t.Path, "sid": t.SID, "eid": t.EID, "oid": t.OID} {
			if value != "" {
				b.add(name, value)
			}
		}
	}
	return b
}

func (b *block) add(name, value string) {
	for _, bit := range bloomBits(name, value) {
		b.Bloom[bit/8] |= 1 << (bit % 8)
	}
}

func (b *block) has(name, value string) bool {
	for _, bit := range bloomBits(name, value) {
		if b.Bloom[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

func bloomBits(name, value string) [bloomKeys]uint32 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, name+"="+value) // a hash never fails
	sum := h.Sum64()
	low, high := uint32(sum), uint32(sum>>32)|1 //nolint:gosec // the two halves of a hash
	var bits [bloomKeys]uint32
	for i := range bits {
		bits[i] = (low + uint32(i)*high) % (8 * bloomBytes)
	}
	return bits
}

// mayHold reports whether a block may have lines that f selects.
func (b *block) mayHold(f Filter) bool {
	if !f.Since.IsZero() && b.Last < f.Since.UnixNano() {
		return false
	}
	for name, values := range f.keys() {
		if !slices.ContainsFunc(values, func(v string) bool { return b.has(name, v) }) {
			return false
		}
	}
	return true
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// backward visits the lines of a segment that f may select, the last block first,
// the lines of each in order.
func (s *segment) backward(f Filter, visit func(lines []byte) error) error {
	if s.open {
		end, err := s.whole()
		for err == nil && end > 0 {
			var lines []byte
			if lines, end, err = s.before(end); err == nil {
				err = visit(lines)
			}
		}
		return err
	}
	blocks, err := s.blocks()
	if err != nil {
		return err
	}
	for _, b := range slices.Backward(blocks) {
		if !b.mayHold(f) {
			continue
		}
		lines := make([]byte, b.Length)
		n, err := s.file.ReadAt(lines, b.Offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := visit(lines[:n]); err != nil {
			return err
		}
	}
	return nil
}
