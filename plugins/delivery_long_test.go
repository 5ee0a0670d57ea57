//go:build long

package plugins_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

func TestRetries(t *testing.T) {
	s, minute := time.Second, time.Minute
	later := errors.New("bad gateway")
	limit := func(after time.Duration) error { return &plugins.RateLimitError{After: after, Err: errors.New("429")} }
	until := func(n int, err error) func(plugins.Message, int) error {
		return func(_ plugins.Message, call int) error {
			if call < n {
				return err
			}
			return nil
		}
	}
	tests := map[string]struct {
		fails  func(plugins.Message, int) error
		for_   time.Duration
		want   []time.Duration
		reason string // of the dead letter
	}{
		"taken at once": {until(1, nil), 0, []time.Duration{0}, ""},
		"backoff": {
			until(9, later), 0,
			[]time.Duration{0, s, 3 * s, 7 * s, 15 * s, 31 * s, 63 * s, 123 * s, 183 * s},
			"",
		},
		"as long as the platform says":    {until(3, limit(17*s)), 0, []time.Duration{0, 17 * s, 34 * s}, ""},
		"a limit of no length":            {until(3, limit(0)), 0, []time.Duration{0, s, 3 * s}, ""},
		"until the time is over":          {until(99, later), 10 * s, []time.Duration{0, s, 3 * s, 7 * s, 10 * s}, "not delivered within 10s: bad gateway"},
		"a limit beyond the time":         {until(99, limit(minute)), 10 * s, []time.Duration{0, minute}, "not delivered within 10s: rate limit for 1m0s: 429"},
		"never":                           {until(99, plugins.Permanent(errors.New("bot was blocked"))), 0, []time.Duration{0}, "bot was blocked"},
		"a panic is an error that passes": {func(_ plugins.Message, n int) error { panicOnce(n); return nil }, 0, []time.Duration{0, s}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := connect(t, "")
				platform := newMemory(chatLimits())
				ch := &timed{Channel: platform, fails: tt.fails}
				h := startHost(t, b, "host-1", ch, settings.Account{DeliverFor: tt.for_}).connected()
				time.Sleep(minute) // nothing older is waited for any more
				ch.restart()
				send(t, b, reply("r.1", "ana", "hello"))
				time.Sleep(10 * minute)
				if diff := cmp.Diff(tt.want, ch.tried()); diff != "" {
					t.Errorf("tries: %s", diff)
				}
				letters := deadLetters(t, b)
				switch {
				case tt.reason == "" && (len(letters) > 0 || len(platform.messages("ana")) != 1):
					t.Errorf("dead letters %+v, messages %q", letters, platform.texts("ana"))
				case tt.reason != "" && (len(letters) != 1 || letters[0].Reason != tt.reason || letters[0].Code != "undeliverable" || letters[0].Attempts != len(tt.want)):
					t.Errorf("dead letters %+v, want one for %q", letters, tt.reason)
				}
				settled(t, b)
				if s := h.courier.Status(); s.Waiting != 0 || s.Out+s.Dead != 1 || s.Retries != uint64(len(tt.want)-1) && tt.reason == "" {
					t.Errorf("status: %+v", s)
				}
			})
		})
	}
}

// A chat that is refused or paused holds up no other; an account that is paused holds
// up all of its chats.
func TestOtherChatsGoOn(t *testing.T) {
	tests := map[string]struct {
		err  error
		want time.Duration // when the others are delivered
	}{
		"failing":             {errors.New("bad gateway"), 0},
		"chat paused":         {&plugins.RateLimitError{After: time.Hour, Err: errors.New("429")}, 0},
		"account paused":      {&plugins.RateLimitError{After: time.Hour, Account: true, Err: errors.New("429")}, time.Hour},
		"refused for good":    {plugins.Permanent(errors.New("chat not found")), 0},
		"a thread of its own": {errors.New("bad gateway"), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := connect(t, "")
				platform := newMemory(chatLimits())
				ch := &timed{Channel: platform}
				ch.fails = func(m plugins.Message, n int) error {
					if m.To == "ana" && m.Thread == "" && (tt.want == 0 || n == 1) {
						return tt.err
					}
					return nil
				}
				h := startHost(t, b, "host-1", ch, settings.Account{}).connected()
				time.Sleep(time.Minute)
				ch.restart()
				send(t, b, reply("r.1", "ana", "hello"))
				time.Sleep(time.Second / 2)
				send(t, b, numbered("bob", 0, 5)...)
				threaded := reply("t.1", "ana", "in a thread")
				threaded.Thread = "7"
				send(t, b, threaded)
				time.Sleep(tt.want)
				time.Sleep(time.Second)
				if diff := cmp.Diff(wantTexts("bob", 5), platform.texts("bob")); diff != "" {
					t.Errorf("to bob: %s", diff)
				}
				if texts := platform.texts("ana"); !slices.Contains(texts, "in a thread") {
					t.Errorf("to ana: %q", texts)
				}
				ch.mu.Lock()
				defer ch.mu.Unlock()
				for i, to := range ch.calls {
					if to == "bob" && ch.times[i] < tt.want {
						t.Errorf("bob got a message after %s, want none before %s", ch.times[i], tt.want)
					}
				}
				s := h.courier.Status()
				if left := s.Waiting; left > 1 || left == 1 && (s.Oldest.IsZero() || s.LastError == "") {
					t.Errorf("status: %+v", s)
				}
			})
		})
	}
}

// A crash after some parts of a reply costs at most the part that was under way.
func TestPartsGoOnWhereTheyWere(t *testing.T) {
	t.Parallel()
	limits := chatLimits()
	limits.Idempotent, limits.Text = false, 20
	url, _ := bustest.Server(t)
	platform := newMemory(limits)
	g := &gated{Channel: platform, after: 3, waiting: make(chan struct{}, 1)}
	watch := connect(t, url)
	first := startHost(t, connect(t, url), "host-1", g, settings.Account{}).connected()
	send(t, watch, reply("r.1", "ana", "one two three\n\nfour five six\n\nseven eight\n\nnine ten\n\neleven"))
	<-g.waiting
	first.bus.NC.Close()
	startHost(t, connect(t, url), "host-1", platform, settings.Account{}).connected()
	settled(t, watch)
	want := []string{"one two three", "four five six", "seven eight", "nine ten\n\neleven"}
	if diff := cmp.Diff(want, platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
	keys := map[string]bool{}
	for i, m := range platform.messages("ana") {
		keys[m.Key] = true
		if m.Part != i+1 || m.Parts != len(want) {
			t.Errorf("part %d of %d, want %d of %d", m.Part, m.Parts, i+1, len(want))
		}
	}
	if len(keys) != len(want) {
		t.Errorf("keys: %v", keys)
	}
}

// A reply that the platform has taken is not sent again where a later version, or another limit, cuts
// it otherwise and NATS has forgotten that it was acknowledged.
func TestTakenReplyThatIsCutOtherwiseNow(t *testing.T) {
	t.Parallel()
	limits := chatLimits()
	limits.Text = 20
	url, _ := bustest.Server(t)
	former := newMemory(limits)
	watch := connect(t, url)
	first := startHost(t, connect(t, url), "host-1", former, settings.Account{}).connected()
	send(t, watch, reply("r.1", "ana", "one two three\n\nfour five six"))
	settled(t, watch)
	if texts := former.texts("ana"); len(texts) != 2 {
		t.Fatalf("sent %q, want two messages", texts)
	}
	first.stop()
	again := consumerInfo(t, watch).Config // as a server that was killed has the consumer
	again.DeliverPolicy, again.OptStartSeq = jetstream.DeliverByStartSequencePolicy, consumerInfo(t, watch).AckFloor.Stream
	if err := watch.JS.DeleteConsumer(t.Context(), bus.OutboundStream, again.Durable); err != nil {
		t.Fatal(err)
	}
	if _, err := watch.JS.CreateConsumer(t.Context(), bus.OutboundStream, again); err != nil {
		t.Fatal(err)
	}
	limits.Text = 4000
	now := newMemory(limits)
	startHost(t, connect(t, url), "host-1", now, settings.Account{}).connected()
	send(t, watch, reply("r.2", "ana", "next"))
	settled(t, watch)
	if diff := cmp.Diff([]string{"next"}, now.texts("ana")); diff != "" {
		t.Error(diff)
	}
}
