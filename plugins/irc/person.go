package irc

import (
	"context"
	"fmt"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// freshFor is how long a nick counts as that of an account after the server has said so: people
// in no channel of the account's leave it without a word.
const freshFor = time.Minute

// A person is logged in at the server.
type person struct {
	nick string
	at   time.Time // when the server has said so
}

// person is the id of who has said something.
func (s *session) person(nick, account string, at time.Time) string {
	if !s.has("account-tag") {
		return s.fold(nick)
	}
	if account == "" || account == "*" {
		return guest + s.fold(nick)
	}
	account = s.fold(account)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.people[account]; known.nick == "" || !at.Before(known.at) { // the history is of before
		s.people[account] = person{nick, at}
	}
	return account
}

// callPerson notes that a nick has changed; to nothing, when its person has gone.
func (s *session) callPerson(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for account, known := range s.people {
		switch {
		case s.fold(known.nick) != s.fold(from):
		case to == "":
			delete(s.people, account)
		default:
			s.people[account] = person{to, known.at} // another may have had the nick by then
		}
	}
}

// nickOf is the nick that an account used last, else the one that is called like it. known is
// false where another may have it by now.
func (c *connection) nickOf(account string) (nick string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.people[account]
	if !ok {
		return account, false
	}
	return p.nick, time.Since(p.at) < freshFor
}

// identify asks the server whether an account has a nick. What is for one person must not go to
// another who has taken their nick.
func (c *connection) identify(ctx context.Context, nick, account string) error {
	label, r := c.expect(nick)
	defer c.forget(label)
	if err := c.write("WHOIS", nick); err != nil {
		return err
	}
	if err := c.write("PING", label); err != nil {
		return err
	}
	if _, err := r.await(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.holder != account {
		return fmt.Errorf("the account %s is not there as %s", account, nick)
	}
	c.people[account] = person{nick, time.Now()}
	return nil
}

// receiveHolder keeps which account has a nick. c.mu is held.
func (c *connection) receiveHolder(m ircmsg.Message) bool {
	for _, r := range c.receipts {
		if r.target == c.fold(param(m, 1)) {
			r.holder = c.fold(param(m, 2))
		}
	}
	return true
}
