package memnats

import (
	"fmt"
	"time"
)

// A pull is a request for messages.
type pull struct {
	reply    string
	n, bytes int
	expires  time.Time
	noWait   bool
	beat     time.Duration
	beats    time.Time // next
	id       string    // the pin that its client knows
	group    string
}

// nextWaiting is the request that a message of that size goes to.
func (o *consumer) nextWaiting(size int) *pull {
	for cycled := 0; len(o.waiting) > cycled; {
		p := o.waiting[0]
		switch {
		case !o.st.server.listens(p.reply):
			o.waiting = o.waiting[1:]
			continue
		case !o.pinned():
		case o.pin == "" && p.id == "":
			o.st.server.pins++
			o.pin = fmt.Sprint("pin", o.st.server.pins)
			p.id = o.pin
			o.holdPin()
		case p.id == o.pin:
		case p.id == "":
			o.waiting = append(o.waiting[1:], p)
			cycled++
			continue
		default:
			o.end(p, 423, "Nats-Wrong-Pin-Id")
			o.waiting = o.waiting[1:]
			continue
		}
		if p.bytes > 0 {
			if size > p.bytes {
				o.end(p, 409, "Message Size Exceeds MaxBytes")
				o.waiting = o.waiting[1:]
				continue
			}
			p.bytes -= size
		}
		o.waiting = o.waiting[1:]
		if p.n--; p.n > 0 {
			o.waiting = append(o.waiting, p)
		}
		if p.beat > 0 {
			p.beats = time.Now().Add(p.beat)
		}
		return p
	}
	return nil
}

// request takes a request for messages.
func (o *consumer) request(p *pull) {
	if o.pinned() && o.pin != "" {
		if p.id == o.pin {
			o.holdPin()
		} else if p.id != "" {
			o.st.server.send(p.reply, "", status(423, "Nats-Pin-Id mismatch"), nil)
			return
		}
	}
	if p.noWait && p.expires.IsZero() && o.numPending()+uint64(len(o.redeliver)) == 0 {
		o.st.server.send(p.reply, "", status(404, "No Messages"), nil)
		return
	}
	o.waiting = append(o.waiting, p)
	o.pump()
}
