package budget

import (
	"math"

	"agenthost/llm"
)

// A claim asks for leave to make a call.
type claim struct {
	run    string
	input  int64 // what it costs at least
	amount int64 // what it costs at most, as far as can be told
	limit  int64
	soft   bool // does not wait for others

	gone    bool // given up: its call was cancelled
	spent   int64
	account *account  // that has decided it
	decided chan bool // with one place
}

// unlimited is c where no budget of the day holds it up.
func (c claim) unlimited() *claim {
	c.limit, c.soft = math.MaxInt64, true
	return &c
}

// A verdict is what becomes of a claim.
type verdict int

const (
	refused verdict = iota
	admitted
	waiting
)

// A booking is what one write changes.
type booking struct {
	owed   Reservations
	held   Reservations
	claims []*claim
}

// judge decides as many of the claims as can be decided, in their order, and
// returns what is reserved with those that it admits. A call whose input alone
// is too much is never made; one that might become too much is, when no other
// is under way.
func judge(b booking, record Spend) (verdicts []verdict, held Reservations) {
	held = b.held
	others, own := int64(0), held.total()
	for _, share := range record.Hosts {
		others = llm.Sum(others, share.Reserved)
	}
	for _, c := range b.claims {
		reserved := llm.Sum(own, others)
		c.spent = record.Spent
		switch {
		case c.spent >= c.limit || llm.Sum(c.spent, c.input) > c.limit:
			verdicts = append(verdicts, refused)
		case reserved == 0 || c.soft || llm.Sum(llm.Sum(c.spent, reserved), c.amount) <= c.limit:
			verdicts = append(verdicts, admitted)
			if c.amount > 0 {
				held.add(c.run, c.amount)
			}
			own = llm.Sum(own, c.amount)
		default: // and who comes later does not get in between
			return append(verdicts, waiting), held
		}
	}
	return verdicts, held
}
