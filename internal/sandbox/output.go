package sandbox

import (
	"fmt"
	"strings"
)

// maxOutput is how many bytes of each end of a command's output are kept.
const maxOutput = 512 << 10

// output keeps the beginning and the end of what is written to it, in bounded
// memory. The zero output is empty and ready to use, by one goroutine at a time.
type output struct {
	head []byte
	tail []byte // a ring once it is full
	next int    // where the ring goes on
	lost int    // bytes that are neither in head nor in tail
}

func (o *output) Write(p []byte) (int, error) {
	written := len(p)
	part := p[:min(len(p), maxOutput-len(o.head))]
	o.head = append(o.head, part...)
	p = p[len(part):]
	part = p[:min(len(p), maxOutput-len(o.tail))]
	o.tail = append(o.tail, part...)
	p = p[len(part):]
	o.lost += len(p)
	for len(p) > 0 {
		n := copy(o.tail[o.next:], p)
		o.next = (o.next + n) % maxOutput
		p = p[n:]
	}
	return written, nil
}

func (o *output) String() string {
	var text strings.Builder
	text.Write(o.head)
	if o.lost > 0 {
		fmt.Fprintf(&text, "\n[%d bytes left out]\n", o.lost)
	}
	text.Write(o.tail[o.next:])
	text.Write(o.tail[:o.next])
	return strings.ToValidUTF8(text.String(), "\uFFFD")
}
