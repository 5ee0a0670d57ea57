package senders

import "slices"

// Rules say who may write on a binding. The zero Rules let everybody.
type Rules struct {
	Allow   []string // these alone, unless Pairing lets others as well; nil: everybody
	Deny    []string // none of these, whatever else says so
	Pairing bool     // whom the operator has approved
}

// A Verdict is what becomes of the message of a sender.
type Verdict int

// The verdicts.
const (
	Welcome  Verdict = iota // it is handled
	Stranger                // it is not, and the sender is told why
	Denied                  // it is not
)

// Judge judges a sender. paired tells whether they have been approved; it is asked
// only where that matters.
func (r Rules) Judge(from string, paired func() bool) Verdict {
	switch {
	case slices.Contains(r.Deny, from):
		return Denied
	case r.Allow == nil && !r.Pairing, slices.Contains(r.Allow, from), r.Pairing && paired():
		return Welcome
	}
	return Stranger
}
