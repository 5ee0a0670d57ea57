//go:build long

package plugins_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

// A limit of years is as long as the longest: platforms mistake units, and numbers
// overflow.
func TestRateLimitOfYears(t *testing.T) {
	plugins.SetLongestLimit(t, time.Hour)
	years := &plugins.RateLimitError{After: 100_000 * time.Hour, Account: true, Err: errors.New("429")}
	t.Run("of a reply", func(t *testing.T) {
		bustest.Bubble(t, func(t *testing.T) {
			b := connect(t, "")
			platform := newMemory(chatLimits())
			platform.fault(years)
			startHost(t, b, "host-1", platform, settings.Account{DeliverFor: 2 * time.Hour}).connected()
			send(t, b, reply("r1.1", "ana", "hello"))
			time.Sleep(61 * time.Minute)
			if got := platform.texts("ana"); !cmp.Equal(got, []string{"hello"}) {
				t.Errorf("got %q after the longest limit", got)
			}
		})
	})
	t.Run("of the login", func(t *testing.T) {
		bustest.Bubble(t, func(t *testing.T) {
			b := connect(t, "")
			ch := &limitedLogin{memory: newMemory(chatLimits()), err: years}
			h := startHost(t, b, "host-1", ch, settings.Account{})
			time.Sleep(61 * time.Minute)
			if state := h.courier.Status().State; state != plugins.StateConnected {
				t.Errorf("after the longest limit the state is %s", state)
			}
		})
	})
}

// An envelope that is JSON of a strange shape holds up no other.
func TestOddReplies(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	platform := newMemory(chatLimits())
	startHost(t, b, "host-1", platform, settings.Account{}).connected()
	for _, data := range []string{
		"", "null", "[]", "\xff\xfe", `{"text":null,"media":[null],"options":[null],"to":"ana"}`, `{"to":"ana","text":"` + strings.Repeat("[", 100_000) + `"}`,
		`{"kind":"approval","call":"` + strings.Repeat("c", 5000) + `","options":["approve"],"to":"ana","text":"?"}`, `{"to":1e400}`,
	} {
		sendRaw(t, b, "", []byte(data))
	}
	send(t, b, bus.Outbound{ID: "last.1", Agent: "ana", Kind: bus.KindReply, Final: true, To: "bo", Text: "fine"})
	settled(t, b)
	if got := platform.texts("bo"); !cmp.Equal(got, []string{"fine"}) {
		t.Errorf("got %q", got)
	}
}

// limitedLogin is refused at its first login.
type limitedLogin struct {
	*memory
	err   error
	tries atomic.Int32
}

func (c *limitedLogin) Run(ctx context.Context, in *plugins.Inbox) error {
	if c.tries.Add(1) == 1 {
		return c.err
	}
	return c.memory.Run(ctx, in)
}
