package llm

import (
	"fmt"
	"time"
)

// A call is an attempt under way: one call of a provider.
type call struct {
	Attempt
	s      *chainStream
	leg    *leg
	pass   pass // that it has of the gate, and gives back when it ends
	start  time.Time
	unsent *Usage // what was counted before anything was said: no try yet
	heard  int    // about the bytes of the answer
	ended  bool
	fault  *Error // that it ended with
}

// attempt calls the provider once; nil means that the caller has seen the end
// or has left.
func (s *chainStream) attempt(l *leg, provider Provider, p pass) *Error {
	l.asked++
	c := &call{
		Attempt: Attempt{Entry: l.Gate.Name(), Provider: l.Name, Model: l.req.Model, Number: l.asked},
		s:       s, leg: l, pass: p, start: time.Now(),
	}
	defer func() {
		if !c.ended { // a panic is on its way through here
			c.end(&Error{Code: CodeInternal, Err: errPanic})
		}
	}()
	provider.Stream(s.ctx, l.req)(c.hear) // no range: what its body captures is made anew for each call
	if !c.ended {
		c.end(s.failure(Unavailable(fmt.Errorf("%s: %w", l.Name, errNoFinish))))
	}
	return c.fault
}

// hear takes what the provider says, and reports whether it is to go on.
func (c *call) hear(d Delta, err error) bool {
	if c.ended { // it was told so
		return false
	}
	if err != nil {
		c.end(c.s.failure(err))
		return false
	}
	if c.heard += d.size(); c.heard > longestAnswer {
		c.end(c.s.failure(Unavailable(fmt.Errorf("%s: %w", c.Provider, errEndless))))
		return false
	}
	if d.Usage != nil && d.Usage.possible() {
		c.Usage, c.unsent = *d.Usage, d.Usage
	}
	if d.Finish != "" {
		d.Usage = c.unsent
		c.end(nil)
		c.s.yield(d, nil)
		return false
	}
	if !c.s.said && !says(d) {
		return true
	}
	c.s.said = true
	d.Usage, c.unsent = c.unsent, nil
	if !c.s.yield(d, nil) {
		c.end(&Error{Code: CodeCancelled, Err: errLeft})
		c.fault = nil
		return false
	}
	return true
}

// end reports the call. It gives the pass back.
func (c *call) end(err *Error) {
	c.ended, c.fault = true, err
	c.Took = time.Since(c.start)
	c.Cost, c.Priced = c.s.cost(c.leg, c.Usage)
	if err != nil {
		c.Err = err
	}
	c.Breaker = c.leg.Gate.leave(c.pass, err)
	c.s.tell(c.Attempt)
}

// longestAnswer bounds what one answer may make the host remember: no model says
// so much, and a server that is broken says it without end.
const longestAnswer = 2 * maxEvent

// size is about how many bytes d adds to the answer.
func (d *Delta) size() int {
	n := len(d.Text) + len(d.Reasoning) + len(d.Meta)
	if d.Call != nil {
		n += 64 + len(d.Call.ID) + len(d.Call.Name) + len(d.Call.Args) + len(d.Call.Meta)
	}
	if d.Media != nil {
		n += len(d.Media.Data)
	}
	return n
}

// says reports whether d has something for the caller besides numbers.
func says(d Delta) bool {
	return d.Text != "" || d.Reasoning != "" || d.Call != nil || d.Media != nil || len(d.Meta) > 0
}
