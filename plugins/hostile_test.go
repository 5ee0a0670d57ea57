package plugins_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/internal/markdown"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
)

// A text on which Render or Measure panics goes out all the same.
func TestRenderThatPanics(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*plugins.Limits, func(text string)){
		"render": func(l *plugins.Limits, panics func(string)) {
			l.Render = func(text string) string { panics(text); return text }
		},
		"measure": func(l *plugins.Limits, panics func(string)) {
			l.Measure = func(text string) int { panics(text); return len(text) }
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			b := connect(t, "")
			limits := chatLimits()
			change(&limits, func(text string) {
				if strings.Contains(text, "poison") {
					panic("index out of range")
				}
			})
			platform := newMemory(limits)
			startHost(t, b, "host-1", platform, settings.Account{}).connected()
			send(t, b, reply("r1.1", "ana", "poison"), reply("r2.1", "ana", "good"), reply("r3.1", "bo", "fine"))
			settled(t, b)
			if got := append(platform.texts("ana"), platform.texts("bo")...); !cmp.Equal(got, []string{"poison", "good", "fine"}) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// What Markdown makes nothing of is shown as it stands: a platform refuses a message without
// text, and with it the reply.
func TestTextThatRendersToNothing(t *testing.T) {
	t.Parallel()
	limits := chatLimits()
	limits.Render, limits.Text = markdown.Plain.Render, 100
	long := strings.Repeat("[//]: # (a comment)\n", 10)
	tests := map[string]struct {
		text string
		want []string
	}{
		"a heading without words": {"#", []string{"#"}},
		"a code block of nothing": {"```go\n```", []string{"```go\n```"}},
		"a space":                 {"&nbsp;", []string{"&nbsp;"}},
		"a comment":               {"[//]: # (a comment)", []string{"[//]: # (a comment)"}},
		"long comments": {long, []string{
			strings.TrimSpace(strings.Repeat("[//]: # (a comment)\n", 5)), strings.TrimSpace(strings.Repeat("[//]: # (a comment)\n", 5)),
		}},
		"sources behind a cut": {
			"As they say [1]. " + strings.Repeat("word ", 20) + "\n\n[1]: https://x.test/a",
			[]string{"As they say [1]. " + strings.TrimSpace(strings.Repeat("word ", 16)), "word word word word\n\n[1]: https://x.test/a"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := connect(t, "")
			platform := newMemory(limits)
			startHost(t, b, "host-1", platform, settings.Account{}).connected()
			send(t, b, reply("r1.1", "ana", tt.text))
			settled(t, b)
			if diff := cmp.Diff(tt.want, platform.texts("ana")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The clock of the writer of sent_at may be wrong: the time to deliver a reply is
// counted from when it was stored.
func TestSentAtOfAnotherClock(t *testing.T) {
	for name, at := range map[string]time.Time{"long ago": time.Unix(0, 0), "in years": time.Unix(1<<33, 0)} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := connect(t, "")
				platform := newMemory(chatLimits())
				platform.fault(errors.New("bad gateway"))
				startHost(t, b, "host-1", platform, settings.Account{DeliverFor: time.Minute}).connected()
				out := reply("r1.1", "ana", "hello")
				out.SentAt = at.UTC()
				send(t, b, out)
				time.Sleep(10 * time.Second)
				if got := platform.texts("ana"); !cmp.Equal(got, []string{"hello"}) {
					t.Errorf("got %q, dead letters %+v", got, deadLetters(t, b))
				}
				for range 100 {
					platform.fault(errors.New("bad gateway"))
				}
				out.ID, out.Text = "r2.1", "never"
				send(t, b, out)
				time.Sleep(10 * time.Minute)
				if letters := deadLetters(t, b); len(letters) != 1 || !strings.Contains(letters[0].Reason, "not delivered within 1m0s") {
					t.Errorf("dead letters %+v", letters)
				}
			})
		})
	}
}

// A reply that the platform refuses becomes a dead letter whatever the platform says of it, and
// whatever the stream of dead letters takes: it keeps back none behind it.
func TestDeadLettersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason  string
		most    int32 // bytes of a message that the stream of dead letters takes; 0: what the server takes
		letters int
		agent   string // as the reply has it; empty: ana
	}{
		"the platform says too much":      {reason: strings.Repeat("no ", 1<<20), letters: 1},
		"the stream takes no payload":     {reason: "no", most: 1500, letters: 1},
		"the stream takes no letter":      {reason: "no", most: 10},
		"the platform says what is usual": {reason: "no", letters: 1},
		"it names no agent":               {reason: "no", agent: "No. Agent"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := connect(t, "")
			if tt.most > 0 {
				dead, err := b.JS.Stream(t.Context(), bus.DeadStream)
				if err != nil {
					t.Fatal(err)
				}
				config := dead.CachedInfo().Config
				config.MaxMsgSize = tt.most
				if _, err := b.JS.UpdateStream(t.Context(), config); err != nil {
					t.Fatal(err)
				}
			}
			platform := newMemory(chatLimits())
			platform.fault(plugins.Permanent(errors.New(tt.reason)))
			h := newHost(t, b, "host-1", platform, settings.Account{})
			buried := make(chan string, 10)
			h.parts.Buried = func(agent string) { buried <- agent }
			h.in(nil).start()
			h.connected()
			refused := reply("r1.1", "ana", strings.Repeat("refused ", 300))
			if tt.agent != "" {
				refused.Agent = tt.agent
			}
			send(t, b, refused)
			send(t, b, reply("r2.1", "ana", "behind it"))
			settled(t, b)
			if got := platform.texts("ana"); !slices.Equal(got, []string{"behind it"}) {
				t.Errorf("got %q", got)
			}
			letters := deadLetters(t, b)
			if len(letters) != tt.letters {
				t.Fatalf("%d dead letters, want %d", len(letters), tt.letters)
			}
			want := slices.Repeat([]string{"ana"}, tt.letters)
			if tt.agent != "" {
				want = []string{"unknown"}
			}
			var got []string
			for len(buried) > 0 {
				got = append(got, <-buried)
			}
			if !slices.Equal(got, want) {
				t.Errorf("counted for %q, want %q", got, want)
			}
			for _, l := range letters {
				if !strings.HasPrefix(l.Reason, "no") || l.Omitted != (tt.most > 0) {
					t.Errorf("omitted: %t, reason %.100s", l.Omitted, l.Reason)
				}
			}
		})
	}
}
