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

func panicOnce(n int) {
	if n == 1 {
		panic("nil map")
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
