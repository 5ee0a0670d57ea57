//go:build unix

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/internal/agenthost-chaos/check"
)

// A recovery is how long after a fault the fleet has answered something that was said after it.
type recovery struct {
	kind  string // of the fault
	took  time.Duration
	model bool // for most of it the model failed, or a host did not ask it for that
}

// A span is a time in which something was so.
type span struct{ from, to time.Time }

// recoveries are those of all faults that something was said after, and answered.
func recoveries(harms []harm, replies []answered, model []span) (list []recovery) {
	for _, harm := range harms {
		i := slices.IndexFunc(replies, func(r answered) bool { return r.said.After(harm.at) })
		if i < 0 {
			continue
		}
		until := replies[i].stored
		took := until.Sub(harm.at)
		list = append(list, recovery{harm.kind, took, 2*covered(span{harm.at, until}, model) > took})
	}
	return list
}

// covered is how much of a time is in spans.
func covered(of span, spans []span) (sum time.Duration) {
	spans = slices.SortedFunc(slices.Values(spans), func(a, b span) int { return a.from.Compare(b.from) })
	for _, s := range spans {
		if s.from.Before(of.from) {
			s.from = of.from
		}
		if s.to.After(of.to) {
			s.to = of.to
		}
		if s.to.After(s.from) {
			sum += s.to.Sub(s.from)
			of.from = s.to
		}
	}
	return sum
}

// An answered input is one with a final reply.
type answered struct{ said, stored time.Time }

// answers are the final replies, in their order.
func answers(facts check.Facts) (list []answered) {
	sent := map[string]time.Time{}
	for _, in := range facts.Inputs {
		sent[in.ID] = in.Sent
	}
	for _, msg := range facts.Streams.Outbound {
		out := bus.Outbound{}
		if json.Unmarshal(msg.Data, &out) == nil && out.Final && out.Kind == bus.KindReply && out.InReplyTo != "" {
			list = append(list, answered{sent[out.InReplyTo], msg.Time})
		}
	}
	return list
}

// givenUpAfter is when hosts give up a call that hangs: timeouts.first of their configuration.
const givenUpAfter = 10 * time.Second

// modelTroubles are the times in which the model failed or hung, and those in which a host
// has kept its calls back for that.
func (h *harness) modelTroubles() (list []span) {
	for _, harm := range h.harmedSoFar() {
		switch harm.kind {
		case "model-errors":
			list = append(list, span{harm.at, harm.until})
		case "model-hangs":
			list = append(list, span{harm.at, harm.until.Add(givenUpAfter)})
		}
	}
	for _, m := range h.fleet.hosts {
		log, err := os.ReadFile(m.Log)
		h.report(err)
		list = append(list, breakerSpans(log)...)
	}
	return list
}

// breakerSpans are the times in which the breaker of a model was not closed, by the log of a
// host. A host that starts, and connects for the first time, begins with a closed one.
func breakerSpans(log []byte) (list []span) {
	var opened, at time.Time
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, len(log)+1)
	for lines.Scan() {
		var line struct {
			Time           time.Time
			Message, State string
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		at = line.Time
		turned := line.Message == "breaker turned"
		switch {
		case turned && line.State != "closed" && opened.IsZero():
			opened = at
		case (turned && line.State == "closed" || line.Message == "NATS connected") && !opened.IsZero():
			list, opened = append(list, span{opened, at}), time.Time{}
		}
	}
	if !opened.IsZero() {
		list = append(list, span{opened, at})
	}
	return list
}

// recoveryRows are the recoveries as a table: the slowest first, and a kind of fault a row.
func recoveryRows(list []recovery) (rows []string) {
	byKind := map[string][]recovery{}
	for _, r := range list {
		kind := r.kind
		if r.model {
			kind += ", with the model's errors"
		}
		byKind[kind] = append(byKind[kind], r)
	}
	type row struct {
		slowest time.Duration
		text    string
	}
	var all []row
	for kind, of := range byKind {
		slices.SortFunc(of, func(a, b recovery) int { return cmp.Compare(a.took, b.took) })
		slowest := of[len(of)-1].took
		all = append(all, row{slowest, fmt.Sprintf("%6.1f s at most, %4.1f s mostly, after %s (%d)", slowest.Seconds(), of[len(of)/2].took.Seconds(), kind, len(of))})
	}
	slices.SortFunc(all, func(a, b row) int { return cmp.Or(cmp.Compare(b.slowest, a.slowest), cmp.Compare(a.text, b.text)) })
	for _, r := range all {
		rows = append(rows, r.text)
	}
	return rows
}

// slowest is the longest recovery, with the model's errors or without.
func slowest(list []recovery, model bool) string {
	longest := recovery{kind: "none"}
	for _, r := range list {
		if r.model == model && r.took > longest.took {
			longest = r
		}
	}
	return fmt.Sprintf("%s, after %s", longest.took.Round(time.Millisecond), longest.kind)
}
