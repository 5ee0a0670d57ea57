package scrub

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A difference is a message of which not all copies are the same.
type difference struct {
	subject string
	have    []string            // servers whose copies have it
	lack    []string            // servers whose copies do not
	groups  map[string][]string // servers by the fingerprint of what they have
}

// differs reports differences: each copy that lacks a message, or has another one than
// most copies. Messages next to each other that are missing on the same servers are one
// finding.
func (s *scrubber) differs(stream string, differ map[uint64]difference) {
	seqs := slices.Sorted(maps.Keys(differ))
	for len(seqs) > 0 {
		first, last := seqs[0], seqs[0]
		d := differ[first]
		for seqs = seqs[1:]; len(seqs) > 0 && seqs[0] == last+1 && alike(d, differ[seqs[0]]); seqs = seqs[1:] {
			last = seqs[0]
		}
		s.lacks(stream, first, last, d)
		s.changed(stream, first, d)
	}
}

// alike reports whether of two messages the same servers have one copy, and the others
// none.
func alike(a, b difference) bool {
	return len(a.groups) == 1 && len(b.groups) == 1 && slices.Equal(a.lack, b.lack)
}

func (s *scrubber) lacks(stream string, first, last uint64, d difference) {
	for _, server := range d.lack {
		f := Finding{Kind: MessageMissing, Stream: stream, Server: server, Subject: d.subject, Seq: first}
		f.Text = fmt.Sprintf("message %d is missing on %s; %s has it", first, server, strings.Join(d.have, ", "))
		if last > first {
			f.Last = last
			f.Text = fmt.Sprintf("messages %d to %d are missing on %s; %s has them", first, last, server, strings.Join(d.have, ", "))
		}
		s.found(f)
	}
}

// changed reports the copies that are not what most have.
func (s *scrubber) changed(stream string, seq uint64, d difference) {
	marks := slices.Sorted(maps.Keys(d.groups))
	most := slices.MaxFunc(marks, func(a, b string) int { return len(d.groups[a]) - len(d.groups[b]) })
	for _, mark := range marks {
		if mark == most {
			continue
		}
		for _, server := range d.groups[mark] {
			s.found(Finding{
				Kind: MessageDiffers, Stream: stream, Server: server, Subject: d.subject, Seq: seq,
				Text: fmt.Sprintf("message %d on %s is not that of %s", seq, server, strings.Join(d.groups[most], ", ")),
			})
		}
	}
}
