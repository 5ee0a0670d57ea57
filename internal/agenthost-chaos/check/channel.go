package check

import (
	"encoding/json"

	"agenthost/bus"
)

// Delivered are the ids of the replies that a platform has, by channel, in the order in which
// it took them. It does not take one twice.
type Delivered map[string][]string

// delivered sees that a platform has all that was said on its channel and nothing else, and
// each session in its order. A program that died may have brought a reply that its host does
// not know of; it comes again, and the platform knows it by its id.
func (c *checker) delivered() {
	for channel, ids := range c.Delivered {
		at := map[string]int{}
		for n, id := range ids {
			at[id] = n
			if _, ok := c.sent[id]; !ok {
				c.violation("channel %s delivered %s, which nobody published", channel, id)
			}
		}
		last := map[string]int{}
		for _, msg := range c.Streams.Outbound {
			out := bus.Outbound{}
			if msg.Subject != bus.OutboundPrefix+channel || json.Unmarshal(msg.Data, &out) != nil {
				continue
			}
			n, ok := at[out.ID]
			if !ok {
				c.violation("outbound %s was not delivered on channel %s", out.ID, channel)
				continue
			}
			if n < last[out.Session] {
				c.violation("channel %s delivered %s before what was said earlier in session %s", channel, out.ID, out.Session)
			}
			last[out.Session] = max(last[out.Session], n)
			c.Brought++
		}
	}
}
