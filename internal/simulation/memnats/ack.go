package memnats

import (
	"slices"
	"strconv"
	"time"
)

// A pendingAck is a message that was delivered and not acknowledged.
type pendingAck struct {
	dseq uint64
	at   time.Time
}

// acked notes that a message was acknowledged.
func (o *consumer) acked(sseq uint64) {
	if sseq >= o.sseq {
		return
	}
	if p := o.pending[sseq]; p != nil {
		delete(o.pending, sseq)
		o.moveFloor(p.dseq, sseq)
	}
	delete(o.redelivered, sseq)
	o.redeliver = slices.DeleteFunc(o.redeliver, func(seq uint64) bool { return seq == sseq })
	o.pump()
}

func (o *consumer) moveFloor(dseq, sseq uint64) {
	if len(o.pending) == 0 {
		o.adflr, o.asflr = o.dseq-1, o.sseq-1
		return
	}
	if dseq != o.adflr+1 {
		return
	}
	o.adflr, o.asflr = dseq, sseq
	for seq := sseq + 1; seq < o.sseq; seq++ {
		if p := o.pending[seq]; p != nil {
			o.adflr, o.asflr = p.dseq-1, seq-1
			return
		}
	}
}

// reset has everything delivered again that is beyond the last message up to which all
// is acknowledged.
func (o *consumer) reset() {
	clear(o.pending)
	clear(o.redelivered)
	o.redeliver = nil
	o.sseq, o.dseq = o.asflr+1, 1
	o.adflr = 0
	o.pump()
}

// ack takes what a client says of a message: the subject names it.
func (s *Server) ack(tokens []string, data []byte) {
	if len(tokens) < 9 || s.names[tokens[2]] == nil {
		return
	}
	o := s.names[tokens[2]].consumer(tokens[3])
	seq, err := strconv.ParseUint(tokens[5], 10, 64)
	if o == nil || err != nil {
		return
	}
	switch string(data) {
	case "", "+ACK":
		o.acked(seq)
	case "+WPI":
		if p := o.pending[seq]; p != nil {
			p.at = time.Now()
		}
	case "-NAK":
		if o.pending[seq] != nil && !slices.Contains(o.redeliver, seq) {
			o.redeliver = append(o.redeliver, seq)
			o.pump()
		}
	}
}
