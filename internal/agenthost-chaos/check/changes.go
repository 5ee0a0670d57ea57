package check

import "strings"

// everyChange sees that a message that edits or withdraws another either does so or is
// answered with an error, and never both.
func (c *checker) everyChange() {
	for _, in := range c.Inputs {
		if in.Changes == "" || c.dead[in.ID] {
			continue
		}
		target, ok := c.inputs[in.Changes]
		if !ok || c.dead[target.ID] {
			continue // it was never accepted
		}
		ends, others := c.ends[in.ID], c.ends[target.ID]
		refused := len(ends) == 1 && strings.HasPrefix(ends[0], "error ")
		together := len(ends) == 1 && len(others) == 1 && endID(ends[0]) == endID(others[0])
		gone := c.withdrawn[in.ID] && c.withdrawn[target.ID]
		switch {
		case c.withdrawn[target.ID] && len(others) > 0, c.withdrawn[in.ID] && len(ends) > 0:
			c.violation("%s is withdrawn by %s, and these have the ends %q and %q", target.ID, in.ID, others, ends)
		case c.withdrawn[in.ID] && !c.withdrawn[target.ID]:
			c.violation("%s withdraws %s, which has the ends %q", in.ID, target.ID, others)
		case in.Withdraws && !gone && (!refused || together):
			c.violation("%s, which withdraws %s, has the ends %q, and that %q", in.ID, target.ID, ends, others)
		case !in.Withdraws && !gone && !together && !refused:
			c.violation("%s, which edits %s, has the ends %q, and that %q", in.ID, target.ID, ends, others)
		case c.withdrawn[target.ID] && !c.withdrawsAny(target.ID):
			c.violation("%s is withdrawn, and nobody has done so", target.ID)
		}
	}
}

func (c *checker) withdrawsAny(id string) bool {
	for _, in := range c.Inputs {
		if in.Withdraws && in.Changes == id && c.withdrawn[in.ID] {
			return true
		}
	}
	return false
}

// endID is the id of the reply in an end.
func endID(end string) string { return end[strings.LastIndexByte(end, ' ')+1:] }

// textIn is what an input says in the run of the reply that ends all of ids: what the last
// edit among them has made of it.
func (c *checker) textIn(in Input, ids []string) string {
	text := in.Text
	for _, id := range ids {
		if edit := c.inputs[id]; edit.Changes == in.ID {
			text = edit.Text
		}
	}
	return text
}
