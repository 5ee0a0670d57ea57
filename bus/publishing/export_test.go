package publishing

// An Ack is what an acknowledgement tells, to compare.
type Ack struct {
	Seq       uint64
	Duplicate bool
}

// PlainAck and DecodeAck are the two ways to read an acknowledgement.
func PlainAck(data []byte) (Ack, bool) {
	a, ok := plainAck(data)
	return Ack{a.seq, a.duplicate}, ok
}

func DecodeAck(data []byte) (Ack, error) {
	a, err := decodeAck(data)
	return Ack{a.seq, a.duplicate}, err
}
