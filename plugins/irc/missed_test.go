package irc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/irc/irctest"
	"agenthost/plugins/settings"
)

// What many persons have written meanwhile is read from as many pages as it takes.
func TestHistoryOfManyPersons(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, irctest.AllCaps)
	missed(t, s, 10)
}

// The clock of the host may be behind that of the server.
func TestHistoryByAnotherClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"behind": 10 * time.Minute, "ahead": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := irctest.New(t, irctest.AllCaps)
			s.Ahead = ahead
			missed(t, s, 2)
		})
	}
}

// missed has persons write while the account is away, after a first login.
func missed(t *testing.T, s *irctest.Server, persons int) {
	t.Helper()
	in := &memory{}
	stop := serve(t, channel(t, account(s, nil)), in)
	waittest.Until(t, "it is noted where to begin", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.notes[noteOf(direct)] != nil && in.notes[noteOf("#room")] != nil
	})
	stop()
	for i := range persons {
		s.Write(fmt.Sprintf("person%d", i), "bot", fmt.Sprintf("hello %d", i))
	}
	serve(t, channel(t, account(s, nil)), in)
	in.next(t, persons)
	got := map[string]bool{}
	for _, m := range in.messages() {
		got[m.Text] = true
	}
	if len(got) != persons {
		t.Errorf("got %v", got)
	}
}

// Bots do not answer each other for ever where the network marks them.
func TestBots(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, irctest.AllCaps)
	s.Support = "BOT=B"
	_, in := started(t, s)
	s.Say("@bot;msgid=1 :other!o@h PRIVMSG bot :I am one, too")
	s.Say("@bot=;msgid=2 :other!o@h PRIVMSG #room :bot: hello")
	s.Say("@msgid=3 :ana!a@h PRIVMSG bot :hello")
	if m := in.next(t, 1); m.Text != "hello" || m.Name != "ana" {
		t.Errorf("got %+v", m)
	}
	if got := s.Lines("MODE"); len(got) != 1 || got[0] != "MODE bot +B" {
		t.Errorf("sent %q", got)
	}
}

// A login while the services of the network are away is made up for when they are back.
func TestServicesAreBack(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, few)
	in := &memory{}
	serve(t, channel(t, account(s, func(a *settings.IRC) { a.Password = "pw" })), in)
	waittest.Until(t, "it is logged in without them", func() bool { return in.name() == "bot" })
	s.Offer(few + " sasl=PLAIN")
	s.Say(":s CAP bot NEW :away-notify sasl=PLAIN")
	waittest.Until(t, "it has used its password", func() bool { return len(s.Lines("AUTHENTICATE")) == 2 })
	n := len(s.Lines("JOIN"))
	s.Say(":s CAP bot NEW :sasl=PLAIN")
	s.Say(":ana!a@h PRIVMSG bot :hello")
	in.next(t, 1)
	if len(s.Lines("CAP")) > 6 || n > 2 {
		t.Errorf("it logs in again: %q", s.Lines("CAP"))
	}
}

func TestJoinIsRefused(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		":s 480 %s #room :Cannot join channel (+j) - throttle exceeded": "throttle exceeded",
		":s 489 %s #room :SSL only":                                     "SSL only",
		":s 470 %s #Room ##room :Forwarding to another channel":         "forwards to ##room",
	} {
		s := irctest.New(t, few)
		s.Answers["JOIN"] = answer
		in := &memory{}
		serve(t, channel(t, account(s, nil)), in)
		waittest.Until(t, "the refusal is said: "+want, func() bool {
			return strings.Contains(in.name(), "not in #Room: ") && strings.Contains(in.name(), want)
		})
	}
}

// A server that slows the account down gets few lines at once: what it does not answer in time
// would come twice.
func TestFewLinesAtOnce(t *testing.T) {
	t.Parallel()
	const chats = 12
	s := irctest.New(t, irctest.AllCaps)
	s.Answers["PRIVMSG"] = ""
	c, _ := started(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var said sync.WaitGroup
	for i := range chats {
		said.Go(func() {
			m := plugins.Message{Place: plugins.Place{Chat: fmt.Sprintf("#room%d", i)}, Text: "x"}
			if _, err := c.Deliver(ctx, m); err != nil {
				t.Errorf("deliver: %v", err)
			}
		})
	}
	for answered := range chats {
		want := min(answered+burst, chats)
		waittest.Until(t, "the lines under way", func() bool { return len(s.Lines("PRIVMSG")) >= want })
		lines := s.Lines("PRIVMSG")
		if len(lines) > want {
			t.Errorf("%d lines are under way, want %d", len(lines)-answered, burst)
			break
		}
		label, _, _ := strings.Cut(strings.TrimPrefix(lines[answered], "@label="), " ")
		s.Say("@label=%s;msgid=%s :bot!b@h PRIVMSG #x :x", label, label)
	}
	if t.Failed() {
		cancel()
	}
	said.Wait()
}

// What persons wrote in turns is read of all of them, also when the connection is lost in between.
func TestHistoryThatIsReadInTwo(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, irctest.AllCaps)
	in := &memory{}
	stop := serve(t, channel(t, account(s, nil)), in)
	waittest.Until(t, "it is noted where to begin", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.notes[noteOf(direct)] != nil
	})
	stop()
	for i, line := range []string{"bea 1", "ana 2", "bea 3"} {
		s.Ahead = time.Duration(i+1) * 10 * time.Second
		nick, _, _ := strings.Cut(line, " ")
		s.Write(nick, "bot", line)
	}
	serve(t, channel(t, account(s, nil)), &failing{memory: in, at: "bea 1"})
	waittest.Until(t, "all is read", func() bool {
		got := map[string]bool{}
		for _, m := range in.messages() {
			got[m.Text] = true
		}
		return len(got) == 3
	})
}

// A failing inbox fails once at a text.
type failing struct {
	*memory
	at     string
	failed atomic.Bool
}

func (in *failing) Take(ctx context.Context, m plugins.Received) error {
	if m.Text == in.at && !in.failed.Swap(true) {
		return errors.New("NATS is away")
	}
	return in.memory.Take(ctx, m)
}
