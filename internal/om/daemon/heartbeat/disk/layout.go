// Package disk carries heartbeats on a device that the nodes share: each writes the
// newest frame in a slot of its own, and reads those of its peers.
//
//	page 0        the signature
//	page s        the name of the node that has slot s, and the id of its cluster
//	pages         as many as there are slots
//	slots         1 MiB each: a head of a page, then the frame
//
// Nothing is trusted but what opens: two nodes that took one slot see it and part.
package disk

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/holdfast-ops/holdfast/internal/linux/device"
)

const (
	pageSize = 4 << 10
	slotSize = 1 << 20
	// mostFrame is what a slot holds.
	mostFrame = slotSize - pageSize
	// headMagic begins a slot that was written.
	headMagic = "HFHD"
)

// layout is where things are on a device.
type layout struct{ slots int }

func (l layout) page(slot int) int64 { return int64(slot) * pageSize }

func (l layout) slot(slot int) int64 { return int64(l.slots)*pageSize + int64(slot)*slotSize }

// size is what a device needs.
func (l layout) size() int64 { return l.slot(l.slots) }

func signature() []byte {
	b, _ := hex.DecodeString(device.HeartbeatSignature) // a constant
	return b
}

// isSigned tells whether a page is the signature.
func isSigned(page []byte) bool { return bytes.HasPrefix(page, signature()) }

// owner is who has a slot.
type owner struct{ node, cluster string }

// encode fills a page with an owner.
func (o owner) encode(page []byte) error {
	if len(o.node)+len(o.cluster)+2 > len(page) || o.node == "" || bytes.ContainsRune([]byte(o.node+o.cluster), 0) {
		return errors.New("the name of the node does not fit a page")
	}
	clear(page)
	copy(page, o.node)
	copy(page[len(o.node)+1:], o.cluster)
	return nil
}

// parseOwner reads a page; the zero owner is a slot that is free.
func parseOwner(page []byte) owner {
	node, rest, _ := bytes.Cut(page, []byte{0})
	cluster, _, _ := bytes.Cut(rest, []byte{0})
	return owner{string(node), string(cluster)}
}

// head is what a slot says of its frame.
type head struct {
	sequence uint64
	length   int
	sum      uint32
}

// encode fills a page with a head.
func (h head) encode(page []byte) {
	clear(page)
	copy(page, headMagic)
	binary.BigEndian.PutUint64(page[4:], h.sequence)
	binary.BigEndian.PutUint32(page[12:], uint32(h.length)) //nolint:gosec // bounded by mostFrame
	binary.BigEndian.PutUint32(page[16:], h.sum)
}

// parseHead reads a page; false is a slot without a frame.
func parseHead(page []byte) (h head, ok bool) {
	if len(page) < 20 || string(page[:4]) != headMagic {
		return h, false
	}
	h = head{sequence: binary.BigEndian.Uint64(page[4:]), length: int(binary.BigEndian.Uint32(page[12:])), sum: binary.BigEndian.Uint32(page[16:])}
	return h, h.length > 0 && h.length <= mostFrame
}

// pages rounds a length up to what the device is read and written by.
func pages(length int) int { return (length + pageSize - 1) / pageSize * pageSize }

// writeSlot writes a frame: the frame first, so that the head is never of one that is
// not there yet.
func writeSlot(d Device, at int64, sequence uint64, frame []byte) error {
	if len(frame) > mostFrame {
		return fmt.Errorf("a frame of %d bytes does not fit a slot, which holds %d", len(frame), mostFrame)
	}
	buffer := aligned(pageSize + pages(len(frame)))
	copy(buffer[pageSize:], frame)
	if _, err := d.WriteAt(buffer[pageSize:], at+pageSize); err != nil {
		return err
	}
	head{sequence, len(frame), crc32.ChecksumIEEE(frame)}.encode(buffer[:pageSize])
	_, err := d.WriteAt(buffer[:pageSize], at)
	return err
}

// readSlot reads a frame, unless it is the one that was read last; nil is none, or
// one that is being written.
func readSlot(d Device, at int64, last uint64) (frame []byte, sequence uint64, err error) {
	page := aligned(pageSize)
	if _, err := d.ReadAt(page, at); err != nil {
		return nil, last, err
	}
	h, ok := parseHead(page)
	if !ok || h.sequence == last {
		return nil, last, nil
	}
	buffer := aligned(pages(h.length))
	if _, err := d.ReadAt(buffer, at+pageSize); err != nil {
		return nil, last, err
	}
	if crc32.ChecksumIEEE(buffer[:h.length]) != h.sum {
		return nil, last, nil
	}
	return buffer[:h.length], h.sequence, nil
}
