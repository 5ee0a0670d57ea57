package budget

import (
	"maps"
	"strings"
	"time"

	"agenthost/llm"
)

// A Spend is what an agent has spent in a UTC day, all hosts together, as the
// bucket AGENT_SPEND keeps it under <agent>.<day>.
type Spend struct {
	Spent int64 `json:"spent"` // micro-cents
	// Models is the part of Spent that is known by the model's name in the
	// configuration.
	Models Reservations     `json:"models,omitempty"`
	Hosts  map[string]Share `json:"hosts,omitempty"`
	// Lost is the part of Spent that was reserved for calls whose host died, by
	// run: the run that is tried again counts it in its own budget.
	Lost Reservations `json:"lost,omitempty"`
}

// A Share is what one host has reserved for its calls under way.
type Share struct {
	Reserved int64        `json:"reserved"` // micro-cents
	Runs     Reservations `json:"runs,omitempty"`
	Until    time.Time    `json:"until"` // when the reservation expires: the host is dead
	Write    string       `json:"write"` // <ledger>.<n>: the host's last write, by the ledger of this life of the host
}

// Reservations are amounts in micro-cents, mostly by run.
type Reservations map[string]int64

// add adds to the amount of a run.
func (r *Reservations) add(run string, amount int64) {
	if *r == nil {
		*r = Reservations{}
	}
	(*r)[run] = llm.Sum((*r)[run], amount)
}

// sub takes an amount off that of a run; a run without one is not listed.
func (r Reservations) sub(run string, amount int64) {
	r[run] -= amount
	if r[run] <= 0 {
		delete(r, run)
	}
}

func (r Reservations) subAll(amounts Reservations) {
	for name, amount := range amounts {
		r.sub(name, amount)
	}
}

func (r Reservations) total() (sum int64) {
	for _, amount := range r {
		sum = llm.Sum(sum, amount)
	}
	return sum
}

// ledger is the id of the ledger that wrote s.
func (s Share) ledger() string {
	id, _, _ := strings.Cut(s.Write, ".")
	return id
}

// maxLost bounds the runs of a record, which has to fit into a message. What is
// lost beyond it counts for the agent only.
const maxLost = 2000

// charge counts what the calls of models have cost.
func (s *Spend) charge(owed Reservations) {
	for model, amount := range owed {
		s.Spent = llm.Sum(s.Spent, amount)
		if model != "" {
			s.Models.add(model, amount)
		}
	}
}

// book counts what a dead host has reserved as spent.
func (s *Spend) book(dead Share) {
	s.Spent = llm.Sum(s.Spent, dead.Reserved)
	for run, amount := range dead.Runs {
		if _, known := s.Lost[run]; known || len(s.Lost) < maxLost {
			s.Lost.add(run, amount)
		}
	}
}

// giveBack takes back what was booked of a host that is alive after all.
func (s *Spend) giveBack(booked Reservations) {
	for run, amount := range booked {
		if amount = min(amount, s.Lost[run]); amount > 0 {
			s.Lost.sub(run, amount)
			s.Spent -= amount
		}
	}
}

// lost is what was reserved for the run by others than the ledger with that id,
// booked or not: they do not try the run any more.
func (s Spend) lost(run, ledger string) int64 {
	sum := s.Lost[run]
	for _, share := range s.Hosts {
		if share.ledger() != ledger {
			sum = llm.Sum(sum, share.Runs[run])
		}
	}
	return sum
}

// settled is the record as the ledger of host has to write it, but for the
// share of host: what the dead had reserved is booked, and what was booked of
// host itself is given back.
func (s Spend) settled(host, ledger string, booked Reservations, now time.Time) Spend {
	next := Spend{Spent: s.Spent, Models: maps.Clone(s.Models), Hosts: map[string]Share{}, Lost: maps.Clone(s.Lost)}
	for name, share := range s.Hosts {
		switch {
		case share.dead(name == host, ledger, now):
			next.book(share)
		case name != host:
			next.Hosts[name] = share
		}
	}
	next.giveBack(booked)
	return next
}

// dead reports whether the host of s is: an earlier life of this one, or another
// one that has not said anything in time.
func (s Share) dead(own bool, ledger string, now time.Time) bool {
	if own {
		return s.ledger() != ledger
	}
	return !s.Until.After(now)
}

// unsettled reports whether there is a reservation of a dead host to book.
func (s Spend) unsettled(host, ledger string, now time.Time) bool {
	for name, share := range s.Hosts {
		if share.Reserved > 0 && share.dead(name == host, ledger, now) {
			return true
		}
	}
	return false
}

// expires is when the first reservation of another host expires; zero without one.
func (s Spend) expires(host string) (first time.Time) {
	for name, share := range s.Hosts {
		if name != host && share.Reserved > 0 && (first.IsZero() || share.Until.Before(first)) {
			first = share.Until
		}
	}
	return first
}
