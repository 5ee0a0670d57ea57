package ask

import (
	"slices"
	"time"

	"agenthost/session"
)

// closedQuestions are questions that were answered a short time ago. Several agents may be in
// one chat. When one of them has taken a message as its answer, another that reads the message
// later must not take it as well.
type closedQuestions struct {
	keys map[string]session.Key // of the conversations, by the ids of the questions
	in   map[session.Key][]closedQuestion
	due  []dueID // in the order in which they are forgotten
}

type closedQuestion struct {
	Waiting
	until time.Time // when it was deleted, by the server's clock; zero: that is not known yet
}

type dueID struct {
	id string
	at time.Time
}

// rememberClosed is more than a message takes from the stream to the agents that hear it.
const rememberClosed = time.Minute

func newClosedQuestions() closedQuestions {
	return closedQuestions{keys: map[string]session.Key{}, in: map[session.Key][]closedQuestion{}}
}

// add remembers a question of the conversation with key.
func (c *closedQuestions) add(key session.Key, w Waiting) {
	now := time.Now()
	for len(c.due) > 0 && now.After(c.due[0].at) {
		c.remove(c.due[0].id)
		c.due = c.due[1:]
	}
	c.remove(w.ID)
	c.keys[w.ID] = key
	c.in[key] = append(c.in[key], closedQuestion{Waiting: w})
	c.due = append(c.due, dueID{w.ID, now.Add(rememberClosed)})
}

// deleted tells when the server deleted a question that is remembered.
func (c *closedQuestions) deleted(id string, at time.Time) {
	list := c.in[c.keys[id]]
	if i := slices.IndexFunc(list, func(w closedQuestion) bool { return w.ID == id }); i >= 0 {
		list[i].until = at
	}
}

func (c *closedQuestions) remove(id string) {
	key := c.keys[id]
	delete(c.keys, id)
	left := slices.DeleteFunc(c.in[key], func(w closedQuestion) bool { return w.ID == id })
	if c.in[key] = left; len(left) == 0 {
		delete(c.in, key)
	}
}

// openAt lists what waited in a conversation when a message was stored.
func (c *closedQuestions) openAt(key session.Key, stored time.Time) (list []Waiting) {
	for _, w := range c.in[key] {
		if w.until.IsZero() || w.until.After(stored) {
			list = append(list, w.Waiting)
		}
	}
	return list
}
