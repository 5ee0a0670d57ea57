package bench

import "time"

// A Verifier is a verifier for tests.
type Verifier struct{ v *verifier }

// NewVerifier is one of a round whose ids begin with tag.
func NewVerifier(tag string, sessions int) Verifier {
	return Verifier{newVerifier(tag, sessions, func() {})}
}

// ID names a message.
func (v Verifier) ID(i int, due time.Time) string { return v.v.id(i, due) }

// Take takes a reply.
func (v Verifier) Take(reply string, now time.Time) { v.v.take([]byte(reply), now) }

// Expect tells that n messages were sent in all.
func (v Verifier) Expect(n int) { v.v.expect(n) }

// Done is closed when all are answered.
func (v Verifier) Done() <-chan struct{} { return v.v.done }

// Side is what came of n messages.
func (v Verifier) Side(n, refused, kept int) Side {
	return v.v.side(n, refused, kept, time.Second, Usage{})
}
