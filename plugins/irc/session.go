package irc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"agenthost/plugins"
)

const (
	queued    = 1000 // lines that wait for NATS; then no more are read
	tryAgain  = 5 * time.Minute
	notJoined = "not joined yet"
)

// A session is a connection that is logged in. The reader handles what the protocol
// wants and queues the rest; the taker does what may wait for NATS.
type session struct {
	*connection
	in    inbox
	pace  *rate.Limiter
	tasks chan func(context.Context) error
	past  history
	count int // of messages without an id of the server
	began time.Time
}

func newSession(c *connection, in inbox, pace *rate.Limiter) *session {
	for _, name := range c.settings.Join {
		c.absent[c.fold(name)] = notJoined
	}
	return &session{
		connection: c, in: in, pace: pace, began: time.Now(),
		tasks: make(chan func(context.Context) error, queued),
		past:  history{held: map[string][]line{}, pages: map[string]*page{}},
	}
}

// run ends with ctx, or when the connection is lost.
func (s *session) run(ctx context.Context) error {
	s.in.Connected(s.as())
	if mode := s.support["BOT"]; mode != "" { // other bots see by it not to answer
		if err := s.write("MODE", s.myNick(), "+"+mode); err != nil {
			return err
		}
	}
	if s.has("draft/chathistory") {
		s.past.begin(direct)
		s.tasks <- s.catchUpDirect
	}
	g, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() {
		s.interrupt()
		time.AfterFunc(quitWithin, s.close) // for what waits for the server to read
	})
	defer stop()
	g.Go(func() error { return s.take(ctx) })
	g.Go(func() error { return s.join(ctx) })
	g.Go(func() error {
		defer s.lose()
		for _, m := range s.early {
			if err := s.handle(ctx, m); err != nil {
				return err
			}
		}
		for {
			m, err := s.read()
			if err != nil {
				return err
			}
			if err := s.handle(ctx, m); err != nil {
				return err
			}
		}
	})
	return g.Wait()
}

// take does what may wait, in order.
func (s *session) take(ctx context.Context) error {
	for {
		select {
		case task := <-s.tasks:
			if err := task(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *session) later(ctx context.Context, task func(context.Context) error) error {
	select {
	case s.tasks <- task:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join joins the channels, and every five minutes those that the account is not in;
// and it takes back its nick.
func (s *session) join(ctx context.Context) error {
	again := time.NewTicker(tryAgain)
	defer again.Stop()
	for {
		if err := s.joinAbsent(ctx); err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *session) joinAbsent(ctx context.Context) error {
	if !s.isMe(s.settings.Nick) {
		if err := s.paced(ctx, "NICK", s.settings.Nick); err != nil {
			return err
		}
	}
	for _, name := range s.settings.Join {
		if s.isAbsent(name) {
			if s.has("draft/chathistory") {
				s.past.begin(s.fold(name)) // lines may come before the server says that the account is in
			}
			if err := s.paced(ctx, "JOIN", name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *connection) isAbsent(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.absent[c.fold(name)] != ""
}

func (s *session) paced(ctx context.Context, command string, params ...string) error {
	if err := s.pace.Wait(ctx); err != nil {
		return err
	}
	return s.write(command, params...)
}

// handle does what a line wants. It waits for nothing but room in the queue.
func (s *session) handle(ctx context.Context, m ircmsg.Message) error {
	if s.receive(m) {
		return nil
	}
	switch m.Command {
	case "PRIVMSG":
		return s.said(ctx, m)
	case "BATCH":
		s.past.batch(m)
	case "CHATHISTORY":
		s.past.name(m)
	case "FAIL":
		s.past.fail(m)
	case "PONG":
		s.past.end(last(m))
	case "JOIN":
		return s.joined(ctx, m)
	case "PART", "KICK":
		s.left(m)
	case "CAP":
		return s.offered(m)
	case "NICK":
		s.renamed(m)
	case "QUIT":
		s.gone(m)
	default:
		if s.refusesJoin(m) {
			s.left(m)
		}
	}
	return nil
}

// offered ends a connection without a login when the server has its services back: the next one
// logs in.
func (s *session) offered(m ircmsg.Message) error {
	if s.settings.Password == "" || s.has("sasl") || param(m, 1) != "NEW" {
		return nil
	}
	for word := range strings.FieldsSeq(last(m)) {
		if name, _, _ := strings.Cut(word, "="); name == "sasl" {
			return errors.New("the server offers logins again")
		}
	}
	return nil
}

// joinRefused are the numbers that speak of joins alone.
var joinRefused = []string{"403", "405", "437", "470", "471", "473", "474", "475", "476", "477"}

// refusesJoin reports whether a line says why the account does not get into a channel. Networks
// have more numbers for that: what they say of a channel in which it is not counts.
func (s *session) refusesJoin(m ircmsg.Message) bool {
	if slices.Contains(joinRefused, m.Command) {
		return true
	}
	return refusal(m) != nil && m.Command != "FAIL" && m.Command != "404" && m.Command != "442" && s.isAbsent(param(m, 1))
}

// joined notes a channel, and asks for what was said there before.
func (s *session) joined(ctx context.Context, m ircmsg.Message) error {
	if s.past.has(m) || !s.isMe(m.Nick()) {
		return nil
	}
	name := s.fold(param(m, 0))
	s.mu.Lock()
	delete(s.absent, name)
	s.mu.Unlock()
	s.in.Connected(s.as())
	if !s.has("draft/chathistory") {
		return nil
	}
	s.past.begin(name)
	at := sentAt(m)
	return s.later(ctx, func(ctx context.Context) error { return s.catchUp(ctx, name, at) })
}

// left notes why the account is not in a channel.
func (s *session) left(m ircmsg.Message) {
	name, why := param(m, 1), last(m)
	switch m.Command {
	case "470":
		why = "the server forwards to " + param(m, 2)
	case "PART":
		name, why = param(m, 0), "left"
		if !s.isMe(m.Nick()) {
			return
		}
	case "KICK":
		name, why = param(m, 0), fmt.Sprintf("kicked by %s (%s)", m.Nick(), last(m))
		if !s.isMe(param(m, 1)) {
			return
		}
	}
	name = s.fold(name)
	s.mu.Lock()
	known := false
	for _, wanted := range s.settings.Join {
		known = known || s.fold(wanted) == name
	}
	if known {
		s.absent[name] = why + "; next try within five minutes"
	}
	s.mu.Unlock()
	if known {
		s.in.Connected(s.as())
	}
}

func (s *session) renamed(m ircmsg.Message) {
	from, to := m.Nick(), param(m, 0)
	if s.isMe(from) {
		s.mu.Lock()
		s.nick = to
		s.mu.Unlock()
		s.in.Connected(s.as())
		return
	}
	s.callPerson(from, to)
}

// gone forgets the nick of a person: another may take it.
func (s *session) gone(m ircmsg.Message) { s.callPerson(m.Nick(), "") }

// said queues what a person has said.
func (s *session) said(ctx context.Context, m ircmsg.Message) error {
	l, ok := s.line(m)
	if s.past.add(m, l, ok) || !ok || s.past.hold(l) {
		return nil
	}
	return s.later(ctx, func(ctx context.Context) error { return s.hand(ctx, l) })
}

// hand gives a line to the agents, and notes how far the account has read.
func (s *session) hand(ctx context.Context, l line) error {
	err := s.offer(ctx, l)
	if err != nil || !s.has("draft/chathistory") || l.mark == "" {
		return err
	}
	return s.note(ctx, l.talk, l.mark)
}

// offer gives a line to the agents. One that can be no message is left out.
func (s *session) offer(ctx context.Context, l line) error {
	err := s.in.Take(ctx, l.received)
	if errors.Is(err, plugins.ErrMalformed) || errors.Is(err, plugins.ErrTooLarge) {
		return nil
	}
	return err
}

// isChannel reports whether a target is a channel.
func (c *connection) isChannel(target string) bool {
	types := channelPrefixes
	if given, ok := c.support["CHANTYPES"]; ok {
		types = given
	}
	return target != "" && strings.IndexByte(types, target[0]) >= 0
}
