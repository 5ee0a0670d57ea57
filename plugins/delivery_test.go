package plugins_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
)

// timed keeps when it was called and by which chat.
type timed struct {
	plugins.Channel
	mu    sync.Mutex
	calls []string
	times []time.Duration // since the start
	start time.Time
	fails func(m plugins.Message, n int) error // n counts from 1
}

// restart counts the times from now on.
func (c *timed) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start = time.Now()
}

// tried is when it was called.
func (c *timed) tried() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.times)
}

func (c *timed) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	c.mu.Lock()
	c.calls = append(c.calls, m.To)
	c.times = append(c.times, time.Since(c.start).Round(10*time.Millisecond))
	n := len(c.calls)
	c.mu.Unlock()
	if err := c.fails(m, n); err != nil {
		return "", err
	}
	return c.Channel.Deliver(ctx, m)
}

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

func panicOnce(n int) {
	if n == 1 {
		panic("nil map")
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

// What the platform has taken whole is not sent again, though its acknowledgement was
// lost with the host.
func TestWholeIsNotedBeforeItsAck(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	platform := newMemory(plugins.Limits{Whole: true})
	out := reply("r.1", "ana", strings.Repeat("long ", 1000))
	out.Media = []bus.Media{{Object: "abc", Name: "a.txt"}}
	h := startHost(t, b, "host-1", platform, settings.Account{}).connected()
	send(t, b, out)
	settled(t, b)
	h.stop()
	data := platform.messages("ana")[0].Envelope
	sendRaw(t, b, "another", data) // the same reply, as if its acknowledgement had not come
	startHost(t, b, "host-1", platform, settings.Account{}).connected()
	settled(t, b)
	sent := platform.messages("ana")
	if len(sent) != 1 || sent[0].Reply.Text != out.Text || sent[0].Parts != 1 || !bytes.Contains(sent[0].Envelope, []byte(`"a.txt"`)) {
		t.Errorf("sent: %+v", sent)
	}
}

func TestMalformedReplies(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	platform := newMemory(chatLimits())
	h := startHost(t, b, "host-1", platform, settings.Account{}).connected()
	for i, data := range []string{"", "hello", "[1]", `{"id":7}`, `{"id":"x","text":"without to"}`} {
		sendRaw(t, b, string(rune('a'+i)), []byte(data))
	}
	sendRaw(t, b, "", []byte(`{"to":"ana","text":"without an id or a time"}`))
	bustest.Eventually(t, "the good one", func() bool { return len(platform.messages("ana")) == 1 })
	settled(t, b)
	if n := strings.Count(h.log.String(), "malformed"); n != 5 {
		t.Errorf("%d are said to be malformed, want 5:\n%s", n, h.log)
	}
}

func TestFilesOfReplies(t *testing.T) {
	t.Parallel()
	b := connect(t, "")
	limits := chatLimits()
	limits.File = 100
	platform := newMemory(limits)
	h := startHost(t, b, "host-1", platform, settings.Account{}).connected()
	files := h.courier.Files()
	put := func(n int) string {
		name, err := files.Put(t.Context(), bytes.Repeat([]byte("x"), n))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	out := reply("r.1", "ana", "see")
	out.Media = []bus.Media{
		{Name: "small.txt", MIME: "text/plain", Size: 50, Object: put(50)},
		{Name: "large_one.txt", Size: 200 << 10, Object: put(200 << 10)},
		{Name: "lied.txt", Size: 10, Object: put(300)},
		{Name: "gone.txt", Size: 10, Object: strings.Repeat("0", 64)},
		{Name: "else.png", URL: "https://x.y/else.png"},
	}
	send(t, b, out)
	settled(t, b)
	var got []string
	for _, m := range platform.messages("ana") {
		line := m.Text
		if m.File != nil {
			line = m.File.Name + " " + string(rune('0'+len(m.File.Data)/10)) + m.File.URL
		}
		got = append(got, line)
	}
	want := []string{"see\n\n📎 large_one.txt (200.0 KB)", "small.txt 5", "📎 lied.txt (10 B)", "📎 gone.txt (10 B)", "else.png 0https://x.y/else.png"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Envelopes beyond what is held are read again when it is their turn.
func TestEnvelopesAreReadAgain(t *testing.T) {
	plugins.SetMostHeldBytes(t, 1000)
	b := connect(t, "")
	platform := newMemory(chatLimits())
	platform.fault(errors.New("bad gateway"))
	startHost(t, b, "host-1", platform, settings.Account{}).connected()
	send(t, b, numbered("ana", 0, 20)...)
	settled(t, b)
	if diff := cmp.Diff(wantTexts("ana", 20), platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
}

// A reply that NATS does not have any more when it is its turn holds up no other.
func TestHeldReplyIsGone(t *testing.T) {
	plugins.SetMostHeldBytes(t, 1)
	b := connect(t, "")
	platform := newMemory(chatLimits())
	ch := newPosting(platform)
	h := startHost(t, b, "host-1", ch, settings.Account{}).connected()
	send(t, b, numbered("ana", 0, 3)...)
	<-ch.began
	bustest.Eventually(t, "all are held", func() bool { return h.courier.Status().Waiting == 3 })
	stream, err := b.JS.Stream(t.Context(), bus.OutboundStream)
	if err != nil {
		t.Fatal(err)
	}
	second := stored(t, b, bus.OutboundStream, subject)[1].Sequence
	if err := stream.DeleteMsg(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	close(ch.release)
	settled(t, b)
	if diff := cmp.Diff([]string{"ana 000", "ana 002"}, platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
	if s := h.courier.Status(); s.Out != 2 || s.Dead != 0 || s.Waiting != 0 {
		t.Errorf("status: %+v", s)
	}
}
