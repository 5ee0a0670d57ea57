package bus

import "context"

// Burden makes l believe that it holds n bytes more than it does.
func (l *Lane) Burden(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += n
}

// MaxHeldBytes is where a lane slows down.
const MaxHeldBytes = maxHeldBytes

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

// Reopen replaces the embedded server of b.
func Reopen(ctx context.Context, b *Bus) error { return b.embedded.Reopen(ctx) }
