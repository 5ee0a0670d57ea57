package plugins_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
)

// scripted runs as its script says.
type scripted struct {
	plugins.Channel
	start time.Time
	runs  []time.Duration
	run   func(ctx context.Context, n int, in *plugins.Inbox) error // n counts from 1
}

func (c *scripted) Run(ctx context.Context, in *plugins.Inbox) error {
	c.runs = append(c.runs, time.Since(c.start).Round(time.Second))
	return c.run(ctx, len(c.runs), in)
}

// While it is not connected nothing is delivered; what waits too long is a dead letter.
func TestNotConnected(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		platform := newMemory(chatLimits())
		ch := &scripted{Channel: platform, start: time.Now(), run: func(ctx context.Context, n int, in *plugins.Inbox) error {
			if n < 3 {
				return plugins.NoLogin(errors.New("401 unauthorized"))
			}
			in.Connected("bot")
			<-ctx.Done()
			return nil
		}}
		h := startHost(t, b, "host-1", ch, settings.Account{DeliverFor: 4 * time.Minute})
		time.Sleep(10 * time.Second)
		send(t, b, reply("r.1", "ana", "too early"))
		time.Sleep(4 * time.Minute)
		send(t, b, reply("r.2", "ana", "a retry of the login fails"), reply("r.3", "bob", "in time"))
		time.Sleep(3 * time.Minute)
		if n := len(platform.messages("bob")); n != 0 || h.courier.Status().Waiting != 2 {
			t.Errorf("%d messages; status %+v", n, h.courier.Status())
		}
		time.Sleep(5 * time.Minute)
		letters := deadLetters(t, b)
		if len(letters) != 3 || letters[0].Reason != "not delivered within 4m0s: not connected: 401 unauthorized" || letters[0].Attempts != 0 {
			t.Errorf("dead letters: %+v", letters)
		}
		send(t, b, reply("r.4", "ana", "connected"))
		settled(t, b)
		if diff := cmp.Diff([]string{"connected"}, platform.texts("ana")); diff != "" {
			t.Error(diff)
		}
	})
}
