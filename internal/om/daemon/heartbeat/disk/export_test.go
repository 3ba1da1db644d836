package disk

// Bounds.
const (
	PageSize  = pageSize
	MostFrame = mostFrame
	Patience  = patience
)

// ReadSlot reads the frame at a place.
func ReadSlot(d Device, at int64, last uint64) ([]byte, uint64, error) { return readSlot(d, at, last) }

// WriteSlot writes a frame at a place.
func WriteSlot(d Device, at int64, sequence uint64, frame []byte) error {
	return writeSlot(d, at, sequence, frame)
}

// Size is what a device of so many slots needs.
func Size(slots int) int64 { return layout{slots}.size() }

// SlotAt is where a slot begins.
func SlotAt(slots, slot int) int64 { return layout{slots}.slot(slot) }

// Signature is what a device begins with.
func Signature() []byte { return signature() }
