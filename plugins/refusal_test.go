package plugins_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
)

var errPassword = plugins.NoLogin(errors.New("535 wrong password"))

// An account that may read and not write, as with a mail server whose password was changed, is
// refused like one that may not log in: it says so, and one delivery tries every five minutes.
func TestDeliveryIsNotLetIn(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		platform := newMemory(chatLimits())
		ch := &timed{Channel: platform, start: time.Now(), fails: func(plugins.Message, int) error { return errPassword }}
		h := startHost(t, b, "host-1", ch, settings.Account{}).connected()
		time.Sleep(time.Minute) // nothing older is waited for any more
		ch.restart()
		for _, to := range []string{"ana", "bob", "eve"} {
			send(t, b, numbered(to, 0, 2)...)
		}
		time.Sleep(11 * time.Minute)
		tried := ch.tried()
		if len(tried) > 3+2 || tried[len(tried)-1] != 10*time.Minute {
			t.Errorf("tries at %v, want one of each chat at first, and one every five minutes", tried)
		}
		if s := h.courier.Status(); s.State != plugins.StateRefused || s.LastError != errPassword.Error() || s.Waiting != 6 || !s.Since.IsZero() {
			t.Errorf("status: %+v", s)
		}
		if n := strings.Count(h.log.String(), "535"); n != 3 {
			t.Errorf("%d lines in the log, want 3:\n%s", n, h.log)
		}
		ch.mu.Lock()
		ch.fails = func(plugins.Message, int) error { return nil }
		ch.mu.Unlock()
		time.Sleep(5 * time.Minute)
		for _, to := range []string{"ana", "bob", "eve"} {
			if diff := cmp.Diff(wantTexts(to, 2), platform.texts(to)); diff != "" {
				t.Error(diff)
			}
		}
		if s := h.courier.Status(); s.State != plugins.StateConnected || s.LastError != "" || s.As != "bot" || s.Since.IsZero() {
			t.Errorf("status: %+v", s)
		}
	})
}

// What waits for an account that is not let in ends with its time, as while it is not connected.
func TestDeliveryIsNotLetInInTime(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		ch := &timed{Channel: newMemory(chatLimits()), start: time.Now(), fails: func(plugins.Message, int) error { return errPassword }}
		startHost(t, b, "host-1", ch, settings.Account{DeliverFor: 8 * time.Minute}).connected()
		send(t, b, numbered("ana", 0, 2)...)
		send(t, b, numbered("bob", 0, 2)...)
		time.Sleep(20 * time.Minute)
		letters := deadLetters(t, b)
		for _, l := range letters {
			if l.Reason != "not delivered within 8m0s: 535 wrong password" {
				t.Errorf("dead letter: %q", l.Reason)
			}
		}
		if len(letters) != 4 {
			t.Errorf("%d dead letters, want 4", len(letters))
		}
	})
}

// A new login ends it: the password may be another now.
func TestLetInByLogin(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		platform := newMemory(chatLimits())
		lost := make(chan struct{})
		ch := &timed{Channel: &scripted{Channel: platform, start: time.Now(), run: func(ctx context.Context, n int, in *plugins.Inbox) error {
			in.Connected("bot")
			select {
			case <-lost:
				if n == 1 {
					return errors.New("connection reset")
				}
				<-ctx.Done()
			case <-ctx.Done():
			}
			return nil
		}}, start: time.Now(), fails: func(_ plugins.Message, n int) error {
			if n == 1 {
				return errPassword
			}
			return nil
		}}
		h := startHost(t, b, "host-1", ch, settings.Account{}).connected()
		send(t, b, reply("r.1", "ana", "hello"))
		time.Sleep(time.Minute)
		h.state(plugins.StateRefused)
		close(lost)
		time.Sleep(10 * time.Second)
		if got := platform.texts("ana"); !slices.Equal(got, []string{"hello"}) {
			t.Errorf("delivered: %q", got)
		}
	})
}

// An error that says nothing of the password does not let the account in: a server that has locked it
// out may let no connection in.
func TestDeliveryIsLockedOut(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		ch := &timed{Channel: newMemory(chatLimits()), start: time.Now(), fails: func(_ plugins.Message, n int) error {
			if n == 1 {
				return errPassword
			}
			return errors.New("connection timed out")
		}}
		h := startHost(t, b, "host-1", ch, settings.Account{}).connected()
		time.Sleep(time.Minute) // nothing older is waited for any more
		ch.restart()
		for _, to := range []string{"ana", "bob", "eve"} {
			send(t, b, numbered(to, 0, 2)...)
		}
		time.Sleep(10*time.Minute + 30*time.Second)
		// Chats are delivered side by side: the first try of each may be under way when the password is refused.
		tried := ch.tried()
		later := slices.DeleteFunc(slices.Clone(tried), func(at time.Duration) bool { return at == 0 })
		var want []time.Duration
		for at := 5; at <= 10; at++ {
			want = append(want, time.Duration(at)*time.Minute)
		}
		if first := len(tried) - len(later); first < 1 || first > 3 || !slices.Equal(later, want) {
			t.Errorf("tries at %v, want one of each chat at first, and from the fifth minute on one every minute", tried)
		}
		if s := h.courier.Status(); s.State != plugins.StateRefused {
			t.Errorf("status: %+v", s)
		}
	})
}

// A platform that lets the account in again, and does not take the message for now, as a mail server
// that puts off a new sender, ends the refusal: the other chats do not wait for that message.
func TestLetInWithATemporaryError(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		platform := newMemory(chatLimits())
		ch := &timed{Channel: platform, start: time.Now(), fails: func(m plugins.Message, n int) error {
			switch {
			case n == 1:
				return errPassword
			case m.To == "ana":
				return plugins.AfterLogin(errors.New("451 try again later"))
			}
			return nil
		}}
		h := startHost(t, b, "host-1", ch, settings.Account{}).connected()
		send(t, b, reply("r.1", "ana", "hello"))
		time.Sleep(time.Minute)
		h.state(plugins.StateRefused)
		time.Sleep(5 * time.Minute)
		if s := h.courier.Status(); s.State != plugins.StateConnected || !strings.Contains(s.LastError, "451") {
			t.Errorf("status: %+v", s)
		}
		send(t, b, reply("r.2", "bob", "hello"))
		time.Sleep(time.Second)
		if got := platform.texts("bob"); !slices.Equal(got, []string{"hello"}) {
			t.Errorf("delivered: %q", got)
		}
	})
}
