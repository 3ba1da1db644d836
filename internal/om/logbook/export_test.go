package logbook

// DecodeIndex reads an index, and reports how many blocks it has.
func DecodeIndex(data []byte, size int64) (int, bool) {
	blocks, ok := decodeIndex(data, size)
	return len(blocks), ok
}

// Blind makes the indexes of a store say that their blocks hold nothing, as an
// index that forgets ids would.
func (b *Book) Blind() error {
	segments, err := b.snapshot()
	if err != nil {
		return err
	}
	defer closeAll(segments)
	for _, s := range segments {
		if s.open {
			continue
		}
		blocks, err := s.blocks()
		if err != nil {
			return err
		}
		for i := range blocks {
			blocks[i].Bloom = [bloomBytes]byte{}
		}
		if err := writeIndex(s.name+indexed, encodeIndex(blocks, s.size)); err != nil {
			return err
		}
	}
	return nil
}
