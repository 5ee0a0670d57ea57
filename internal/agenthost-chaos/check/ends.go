package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agenthost/bus"
)

// outbound reads what was said: ids are there once, ends belong to inputs, and
// a session is answered in order.
func (c *checker) outbound() {
	last := map[string]int{}
	for _, msg := range c.Streams.Outbound {
		if !strings.HasPrefix(msg.Subject, bus.OutboundPrefix) {
			continue // who owns an account is noted there as well
		}
		out := bus.Outbound{}
		if err := json.Unmarshal(msg.Data, &out); err != nil {
			c.violation("outbound %d: %v", msg.Seq, err)
			continue
		}
		if _, ok := c.sent[out.ID]; ok {
			c.violation("outbound %s is stored twice, the second time as %d", out.ID, msg.Seq)
		}
		c.sent[out.ID] = msg
		if id := msg.Header.Get("Nats-Msg-Id"); id != out.ID {
			c.violation("outbound %s has the Nats-Msg-Id %q", out.ID, id)
		}
		if out.Final && out.InReplyTo != "" {
			c.end(out, last)
		}
	}
}

func (c *checker) end(out bus.Outbound, last map[string]int) {
	var texts []string
	for _, id := range Answered(out) {
		in, ok := c.inputs[id]
		if !ok {
			c.violation("outbound %s ends %q, which is not in the load", out.ID, id)
			continue
		}
		kind := out.Kind
		if out.Kind == bus.KindError && out.Error != nil {
			kind += " " + out.Error.Code
		}
		c.ends[id] = append(c.ends[id], kind+" "+out.ID)
		if in.Order || in.Changes != "" {
			continue
		}
		texts = append(texts, c.textIn(in, Answered(out)))
		if in.N < last[in.Session] {
			c.violation("session %s: message %d is answered after message %d", in.Session, in.N, last[in.Session])
		}
		last[in.Session] = max(last[in.Session], in.N)
	}
	whole := slices.ContainsFunc(Answered(out), func(id string) bool { return c.inputs[id].Queue == "followup" })
	if want := strings.Join(texts, "\n"); whole && out.Kind == bus.KindReply && !strings.HasSuffix(out.Text, want) && len(texts) > 0 { // in a group the name is before it
		c.violation("outbound %s says %q, want %q", out.ID, out.Text, want)
	}
}

func (c *checker) deadLetters() {
	for _, msg := range c.Streams.Dead {
		letter := bus.DeadLetter{}
		in := bus.Inbound{}
		if json.Unmarshal(msg.Data, &letter) != nil || json.Unmarshal(letter.Data(), &in) != nil {
			c.violation("dead letter %d cannot be read: %s", msg.Seq, msg.Data)
			continue
		}
		if c.dead[in.ID] {
			c.violation("input %s is a dead letter twice", in.ID)
		}
		c.dead[in.ID] = true
	}
}

// everyEnd sees that every input has one end.
func (c *checker) everyEnd() {
	for _, in := range c.Inputs {
		ends := c.ends[in.ID]
		if c.withdrawn[in.ID] && (in.Order || in.Changes != "" || c.withdrawsAny(in.ID)) && len(ends) == 0 {
			c.Ends["withdrawn"]++
			continue
		}
		switch {
		case in.Order && len(ends) > 1, !in.Order && len(ends) != 1:
			c.violation("input %s (%s, sequence %d) has %d ends: %q", in.ID, in.Text, in.Seq, len(ends), ends)
		case in.Order && len(ends) == 0 && !c.noted[in.ID] && !c.dead[in.ID]:
			c.violation("order %s (%s, sequence %d) is in no log and was answered by nothing", in.ID, in.Text, in.Seq)
		case len(ends) == 1:
			kind, _, _ := strings.Cut(ends[0], " ")
			if code := strings.Fields(ends[0]); kind == bus.KindError && len(code) > 2 {
				kind += " " + code[1]
			}
			c.Ends[kind]++
		}
		if c.dead[in.ID] {
			c.Ends["of which dead letters"]++
		}
	}
}

// everyReply sees that what logs say was said is what was said.
func (c *checker) everyReply() {
	for _, id := range slices.Sorted(maps.Keys(c.logged)) {
		if _, ok := c.sent[id]; !ok {
			c.violation("reply %s is in a log and was not published", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.sent)) {
		out := bus.Outbound{}
		if json.Unmarshal(c.sent[id].Data, &out) == nil && out.Kind == bus.KindReply && !c.logged[id] && !c.passedOn(out) {
			c.violation("reply %s was published and is in no log", id)
		}
	}
}

// passedOn reports whether a reply says that an answer, or an order, was passed on to
// another session: the log of that one has it.
func (c *checker) passedOn(out bus.Outbound) bool {
	in := c.inputs[out.InReplyTo]
	return strings.HasPrefix(out.ID, "reply-") && in.Order && (in.Text == "/stop" || c.routed()[in.ID])
}

// routed are the ids of what was passed on.
func (c *checker) routed() map[string]bool {
	if c.routes == nil {
		c.routes = map[string]bool{}
		for _, msg := range c.Streams.Routes {
			route := bus.Route{}
			if json.Unmarshal(msg.Data, &route) == nil {
				c.routes[route.ID] = true
			}
		}
	}
	return c.routes
}
