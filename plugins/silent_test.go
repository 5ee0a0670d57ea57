package plugins_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

// A mute channel does not say what has become of some messages.
type mute struct {
	plugins.Channel
	text string // of those
}

func (m mute) Deliver(ctx context.Context, message plugins.Message) (string, error) {
	if message.Text == m.text {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	return m.Channel.Deliver(ctx, message)
}

// A reply of which the channel says nothing is a dead letter once its time is over, and the
// next goes on.
func TestReplyWithoutAnEnd(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		platform := newMemory(chatLimits())
		startHost(t, b, "host-1", mute{platform, "hello"}, settings.Account{DeliverFor: 10 * time.Minute}).connected()
		send(t, b, reply("r1.1", "ana", "hello"), reply("r2.1", "ana", "next"))
		time.Sleep(5 * time.Minute)
		if letters := deadLetters(t, b); len(letters) != 0 {
			t.Errorf("before its time is over: dead letters %+v", letters)
		}
		time.Sleep(10 * time.Minute)
		if letters := deadLetters(t, b); len(letters) != 1 || !strings.Contains(letters[0].Reason, "not delivered within 10m0s") {
			t.Errorf("dead letters %+v", letters)
		}
		if diff := cmp.Diff([]string{"next"}, platform.texts("ana")); diff != "" {
			t.Error(diff)
		}
	})
}
