package plugins_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
)

// writes publishes a chunk of what ana writes to a person.
func writes(t *testing.T, b *bus.Bus, to string, c agents.Chunk) {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.NC.Publish(agents.StreamSubject("ana", session.DM("test", "one", to)), data); err != nil {
		t.Fatal(err)
	}
	if err := b.NC.Flush(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
}

func (p *memory) typed(to string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.typing[to]
}

func (p *memory) previewed() (shown []string, left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.shown), len(p.previews)
}

func TestTyping(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		platform := newMemory(chatLimits())
		startHost(t, b, "host-1", platform, settings.Account{}).connected()
		time.Sleep(time.Minute)
		before := -1 // as the last message came: its first typing may come before it is counted
		typed := func(after time.Duration, want int, when string) {
			t.Helper()
			if before < 0 {
				before = platform.typed("ana")
			}
			time.Sleep(after)
			got := platform.typed("ana") - before
			before = -1
			if got != want && (want == 0 || got != want+1) { // it may be due at that very moment
				t.Errorf("%s: typing %d times in %s, want %d", when, got, after, want)
			}
		}
		write := func(id string) {
			before = platform.typed("ana")
			platform.write(plugins.Received{ID: id, From: "ana", Text: "hi"})
		}
		write("m1")
		typed(time.Second, 1, "at once")
		typed(20*time.Second, 5, "every four seconds")
		write("m2")
		typed(time.Second, 0, "no more often for a second message")
		out := reply("r.1", "ana", "one")
		out.InReplyTo = "m1"
		send(t, b, out)
		typed(20*time.Second, 5, "the second message has no reply yet")
		out = reply("q.1", "ana", "May I?")
		out.Kind, out.Final, out.Call = bus.KindApproval, false, "c1"
		send(t, b, out)
		typed(time.Minute, 0, "the person is asked")
		write("m3") // the answer
		typed(19*time.Second, 5, "after the answer")
		out = reply("r.2", "ana", "two")
		out.InReplyTo = "m2"
		send(t, b, out)
		typed(time.Minute, 0, "after the last reply")

		write("m4")
		typed(119*time.Second, 30, "no sign of life")
		typed(time.Minute, 0, "two minutes without a sign of life")
		write("m5")
		for i := range 10 {
			typed(time.Minute, 15, "a model thinks")
			writes(t, b, "ana", agents.Chunk{Run: "r5", Turn: 1, Offset: i * 5, Reasoning: "hmm, "})
		}
		typed(5*time.Minute, 30, "it thinks no more")
	})
}

func TestPreviews(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		limits := chatLimits()
		limits.Text = 30
		platform := newMemory(limits)
		startHost(t, b, "host-1", platform, settings.Account{Stream: true}).connected()
		time.Sleep(time.Minute)
		platform.write(plugins.Received{ID: "m1", From: "ana", Text: "hi"})
		time.Sleep(time.Second)
		text := ""
		for i := range 40 { // ten in a second
			word := fmt.Sprintf("w%02d ", i)
			writes(t, b, "ana", agents.Chunk{Run: "r1", Turn: 1, Offset: len(text), Text: word})
			text += word
			time.Sleep(90 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		shown, left := platform.previewed()
		if len(shown) < 4 || len(shown) > 6 || left != 1 {
			t.Errorf("%d previews in four seconds, %d are left: %q", len(shown), left, shown)
		}
		if last := shown[len(shown)-1]; last != "w35 w36 w37 w38 w39" {
			t.Errorf("the last preview says %q", last)
		}
		writes(t, b, "ana", agents.Chunk{Run: "r1", Turn: 2, Text: "after a tool"})
		time.Sleep(2 * time.Second)
		if shown, _ := platform.previewed(); shown[len(shown)-1] != "after a tool" {
			t.Errorf("the last preview says %q", shown[len(shown)-1])
		}
		notice := reply("n1.1", "ana", "by the way")
		notice.Kind, notice.Final = bus.KindNotice, false
		out := reply("r1.1", "ana", "the reply is longer than one message can be")
		out.InReplyTo = "m1"
		send(t, b, notice, out)
		settled(t, b)
		writes(t, b, "ana", agents.Chunk{Run: "r1", Turn: 2, Offset: 12, Text: " and late"})
		time.Sleep(5 * time.Second)
		var previews []string
		for _, m := range platform.messages("ana") {
			previews = append(previews, m.Preview)
		}
		if diff := cmp.Diff([]string{"", "preview-1", ""}, previews); diff != "" {
			t.Errorf("previews of the messages: %s", diff)
		}
		if after, left := platform.previewed(); left != 0 || after[len(after)-1] != "after a tool" {
			t.Errorf("%d previews stick, the last is %q", left, after[len(after)-1])
		}
	})
}

// The next owner replaces what the one before has shown.
func TestPreviewOfAnotherOwner(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		platform := newMemory(chatLimits())
		h := startHost(t, b, "host-1", platform, settings.Account{Stream: true}).connected()
		time.Sleep(time.Minute)
		platform.write(plugins.Received{ID: "m1", From: "ana", Text: "hi"})
		time.Sleep(time.Second)
		writes(t, b, "ana", agents.Chunk{Run: "r1", Turn: 1, Text: "so far"})
		time.Sleep(2 * time.Second)
		if _, left := platform.previewed(); left != 1 {
			t.Fatalf("%d previews", left)
		}
		h.stop()
		startHost(t, b, "host-2", platform, settings.Account{Stream: true}).connected()
		time.Sleep(10 * time.Second)
		send(t, b, reply("r1.1", "ana", "so far, so good"))
		settled(t, b)
		if _, left := platform.previewed(); left != 0 || platform.messages("ana")[0].Preview == "" {
			t.Errorf("%d previews stick; the reply is %+v", left, platform.messages("ana")[0])
		}
	})
}

// slow shows for a minute, unless it is told to stop.
type slow struct {
	*memory
	ended int
}

func (s *slow) Typing(ctx context.Context, _ plugins.Place) error {
	select {
	case <-ctx.Done():
		s.ended++
	case <-time.After(time.Minute):
	}
	return ctx.Err()
}

func TestSlowTypingHoldsUpNothing(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		ch := &slow{memory: newMemory(chatLimits())}
		startHost(t, b, "host-1", ch, settings.Account{}).connected()
		time.Sleep(time.Minute)
		ch.write(plugins.Received{ID: "m1", From: "ana", Text: "hi"})
		time.Sleep(time.Second)
		out := reply("r1.1", "ana", "hello")
		out.InReplyTo = "m1"
		send(t, b, out)
		time.Sleep(time.Second)
		if n := len(ch.messages("ana")); n != 1 || ch.ended != 1 {
			t.Errorf("%d messages in a second; typing was ended %d times", n, ch.ended)
		}
	})
}

// reader wants the pieces.
type reader struct {
	*memory
	mu     sync.Mutex
	deltas []plugins.Delta
}

func (r *reader) Delta(d plugins.Delta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deltas = append(r.deltas, d)
	panic("a delta too many")
}

func TestDeltas(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := connect(t, "")
		ch := &reader{memory: newMemory(chatLimits())}
		startHost(t, b, "host-1", ch, settings.Account{Stream: true}).connected()
		time.Sleep(time.Minute)
		ch.write(plugins.Received{ID: "m1", From: "ana", Text: "hi"})
		time.Sleep(time.Second)
		writes(t, b, "ana", agents.Chunk{Run: "r1", Turn: 1, Text: "Hello "})
		writes(t, b, "ana", agents.Chunk{Run: "r1", Turn: 1, Offset: 6, Text: "Ana"})
		time.Sleep(5 * time.Second)
		at := plugins.Place{To: "ana"}
		want := []plugins.Delta{{Agent: "ana", Session: "test.one/dm/ana", To: at, Text: "Hello "}, {Agent: "ana", Session: "test.one/dm/ana", To: at, Text: "Ana"}}
		ch.mu.Lock()
		defer ch.mu.Unlock()
		if diff := cmp.Diff(want, ch.deltas); diff != "" {
			t.Error(diff)
		}
		if shown, _ := ch.previewed(); len(shown) > 0 {
			t.Errorf("previews beside deltas: %q", shown)
		}
	})
}
