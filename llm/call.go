package llm

import (
	"fmt"
	"strings"
	"time"
)

// A call is an attempt under way: one call of a provider.
type call struct {
	Attempt
	s      *chainStream
	leg    *leg
	leave  pass // of the gate, given back when it ends
	watch  *watch
	start  time.Time
	unsent *Usage // what was counted before anything was said
	heard  int    // about the bytes of the answer
	spoke  bool   // something of it has reached the caller
	full   bool   // with text, a call or media
	beaten bool   // another call for the same answer was faster
	ended  bool
	fault  *Error // that it ended with
}

// attempt calls the provider once; nil means that the caller has seen the end
// or has left.
func (s *chainStream) attempt(l *leg, provider Provider, p pass) *Error {
	if l.Hedge > 0 && len(s.legs) > 1 {
		return s.race(l, provider, p)
	}
	c := s.begin(l, p)
	defer c.abandon()
	ctx, w := watched(s.ctx, l.Timeouts)
	c.watch = w
	provider.Stream(ctx, l.req)(c.hear) // no range: what its body captures is made again for each call
	c.over()
	return c.fault
}

// begin is a call of l, which has a pass of its gate.
func (s *chainStream) begin(l *leg, p pass) *call {
	l.asked++
	return &call{
		Attempt: Attempt{Entry: l.Gate.Name(), Provider: l.Name, Model: l.req.Model, Number: l.asked},
		s:       s, leg: l, leave: p, start: time.Now(),
	}
}

// over ends a call whose provider says no more.
func (c *call) over() {
	if !c.ended {
		c.end(c.unfit(errNoFinish))
	}
}

// abandon ends a call that a panic has left behind.
func (c *call) abandon() {
	_ = c.watch.stop()
	if !c.ended {
		c.end(&Error{Code: CodeInternal, Err: errPanic})
	}
}

// hear takes what the provider says, and reports whether it is to go on.
func (c *call) hear(d Delta, err error) bool {
	if c.ended { // it was told so
		return false
	}
	c.watch.pause()
	defer c.watch.resume()
	if err != nil {
		c.end(c.failure(err))
		return false
	}
	if c.heard += d.size(); c.heard > longestAnswer {
		c.end(c.unfit(errEndless))
		return false
	}
	if d.Usage != nil && d.Usage.possible() {
		c.Usage, c.unsent = *d.Usage, d.Usage
	}
	c.full = c.full || d.Call != nil || seen(&d)
	switch {
	case d.Finish != "":
		return c.finish(d)
	case c.spoke || says(&d):
		return c.say(d)
	}
	return true
}

// say passes on what is not the end.
func (c *call) say(d Delta) bool {
	c.spoke, c.s.seen = true, c.s.seen || seen(&d)
	if !c.pass(d) {
		c.end(&Error{Code: CodeCancelled, Err: errLeft})
		c.fault = nil
		return false
	}
	return true
}

func (c *call) pass(d Delta) bool {
	d.Restart, c.s.stale = c.s.stale, false
	d.Usage, c.unsent = c.unsent, nil
	return c.s.yield(d, nil)
}

// finish passes on the last delta, unless the answer is none.
func (c *call) finish(d Delta) bool {
	if empty := c.empty(d.Finish); empty != nil {
		c.end(empty)
		return false
	}
	c.end(nil)
	c.pass(d)
	return false
}

// empty is the error of an answer that says nothing. That it was cut at its
// longest length another try would not cure.
func (c *call) empty(finish Finish) *Error {
	switch {
	case c.full || c.s.req.Silence || finish == FinishContentFilter:
		return nil
	case finish == FinishLength:
		return &Error{Code: CodeProviderUnavailable, Err: fmt.Errorf("%s: %w", c.Provider, errSpent)}
	}
	return c.unfit(errEmpty)
}

// unfit is the failure of an answer that makes no sense.
func (c *call) unfit(why error) *Error {
	return c.failure(Unavailable(fmt.Errorf("%s: %w", c.Provider, why)))
}

// failure is what a broken attempt ends with. That the time was up, the provider
// does not know: its ctx has ended.
func (c *call) failure(err error) *Error {
	if over := c.watch.stop(); over != nil {
		err = &Error{
			Code: CodeProviderUnavailable, Transient: true, TimedOut: true,
			Err: fmt.Errorf("%s: %w", c.Provider, over),
		}
	}
	return c.s.failure(err)
}

// end reports the call. It gives the pass back.
func (c *call) end(err *Error) {
	c.ended, c.fault = true, err
	c.Took = time.Since(c.start)
	c.Cost, c.Priced = c.cost()
	if err != nil {
		c.Err = err
		c.s.stale = c.s.stale || c.spoke
	}
	c.Breaker = c.leg.Gate.leave(c.leave, err)
	c.s.tell(c.Attempt)
	c.leg.admission.settle(c.Cost)
}

// cost is what the call has cost, and whether that is known. One that said
// something, or may have been about to, and reported no usage has cost what was
// expected.
func (c *call) cost() (cost int64, priced bool) {
	switch price := c.leg.Price; {
	case price == nil:
		return 0, false
	case c.Usage == Usage{} && (c.spoke || c.beaten):
		return c.leg.admission.Expected, true
	default:
		return price.Cost(c.Usage), true
	}
}

// longestAnswer bounds what one answer may make the host remember: no model says
// so much, and a server that is broken says it without end.
const longestAnswer = 64 << 20

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
func says(d *Delta) bool {
	return d.Text != "" || d.Reasoning != "" || d.Call != nil || d.Media != nil || len(d.Meta) > 0
}

// seen reports whether a person may see something of d: no reply ever has
// reasoning, and a call is not made before the answer is complete.
func seen(d *Delta) bool { return d.Media != nil || strings.TrimSpace(d.Text) != "" }
