//go:build long

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/session"
)

// moderate has a hook refuse what holds the word bad, write LOUD where it says loud, and fail where
// it says odd. seen are the texts that it has seen.
func (w *crashWorld) moderate(seen *[]string) {
	w.t.Helper()
	var mu sync.Mutex
	w.hook(hooks.BeforeMessage, hooks.Options{FailClosed: true}, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
		in, err := bus.DecodeInbound(call.Args["message"])
		mu.Lock()
		*seen = append(*seen, in.Text)
		mu.Unlock()
		switch {
		case strings.Contains(in.Text, "bad"):
			return hooks.Outcome{Action: hooks.Abort, Reason: "refused: " + in.Text}, nil
		case strings.Contains(in.Text, "loud"):
			message := bytes.ReplaceAll(call.Args["message"], []byte("loud"), []byte("LOUD"))
			return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": message}}, nil
		case strings.Contains(in.Text, "odd"):
			return hooks.Outcome{}, errors.New("odd")
		}
		return hooks.Outcome{}, err
	})
}

// lastWords are the replies to messages: the message answered, all that are, and the text.
func (w *crashWorld) lastWords() (list []string) {
	w.t.Helper()
	w.pass()
	for rec, err := range records.NewReader(w.js).Tail(w.t.Context(), bus.OutboundStream, "plugin.outbound.ana", 1) {
		out := bus.Outbound{}
		if err == nil {
			err = json.Unmarshal(rec.Data, &out)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s %q to %s", out.InReplyTo, out.Merged, out.Text, out.To))
	}
	slices.Sort(list)
	return list
}

func collects(a *actor) {
	a.cfg.Channels[0] = agents.Binding{Channel: "ana", Queue: session.Collect, Debounce: time.Second}
}

// A message that a hook refuses is answered by itself, and the others that were collected with it
// are answered together, whichever host serves the session then. The hook sees each once in a life of a host.
func TestOneOfThoseCollectedIsRefused(t *testing.T) {
	tests := map[string]struct {
		says, want, seen []string
	}{
		"one": {
			[]string{"ana: hello", "bea: bad", "eve: loud"},
			[]string{`1 [] "refused: bad" to bea`, `2 [0 2] "ana: hello\neve: LOUD" to eve`},
			[]string{"hello", "bad", "loud"},
		},
		"the last": {
			[]string{"ana: hello", "eve: hi", "bea: bad"},
			[]string{`1 [0 1] "ana: hello\neve: hi" to eve`, `2 [] "refused: bad" to bea`},
			[]string{"hello", "hi", "bad"},
		},
		"all but one": {
			[]string{"ana: bad 1", "eve: hi", "bea: bad 2"},
			[]string{`0 [] "refused: bad 1" to ana`, `1 [] "hi" to eve`, `2 [] "refused: bad 2" to bea`},
			[]string{"bad 1", "hi", "bad 2"},
		},
		"all": {
			[]string{"ana: bad 1", "bea: bad 2"},
			[]string{`0 [] "refused: bad 1" to ana`, `1 [] "refused: bad 2" to bea`},
			[]string{"bad 1", "bad 2"},
		},
		"the hook fails": {
			[]string{"ana: hello", "bea: odd"},
			[]string{`0 [] "hello" to ana`, `1 [] "` + couldNotCheck + `" to bea`},
			[]string{"hello", "odd"},
		},
		"an edit": {
			[]string{"ana: hello", "eve: hi", "ana edits 0: bad", "eve edits 1: loud"},
			[]string{`1 [3 0 1] "ana: hello\neve: LOUD" to eve`, `2 [] "refused: bad" to ana`},
			nil,
		},
		"one of two edits": {
			[]string{"ana: hello", "ana edits 0: loud", "ana edits 0: bad"},
			[]string{`0 [1 0] "LOUD" to ana`, `2 [] "refused: bad" to ana`},
			nil,
		},
		"the only message": {
			[]string{"ana: bad"}, []string{`0 [] "refused: bad" to ana`}, []string{"bad"},
		},
	}
	spoils := map[string]func(w *crashWorld){
		"": nil, "before commit": func(w *crashWorld) { w.commits.hold() }, "before reply": func(w *crashWorld) { w.replies.hold() },
		"before ack": func(w *crashWorld) { w.rest.hold() },
		"while the model works": func(w *crashWorld) {
			for _, text := range []string{"ana: hello\neve: LOUD", "ana: hello\neve: hi", "hi", "hello", "LOUD"} {
				w.model.hold(text)
			}
		},
	}
	for name, tt := range tests {
		for when, spoil := range spoils {
			t.Run(name+" "+when, func(t *testing.T) {
				inCrashWorld(t, func(w *crashWorld) {
					var seen []string
					w.moderate(&seen)
					for i, line := range tt.says {
						from, text, _ := strings.Cut(line, ": ")
						from, edits, _ := strings.Cut(from, " edits ")
						w.alter(bus.Inbound{ID: fmt.Sprint(i), From: from, Edits: edits, Text: text, Chat: "g", Group: true})
					}
					time.Sleep(debounce / 4)
					if spoil != nil {
						spoil(w)
						w.pass()
						w.crash()
						w.model.free()
						w.begin()
						w.moderate(&seen)
						w.pass()
					}
					if got := w.lastWords(); !slices.Equal(got, tt.want) {
						t.Errorf("heard %q, want %q", got, tt.want)
					}
					ended := map[string]bool{}
					for _, e := range w.committed(run.InputRefused) {
						if ended[e.Input.ID] {
							t.Errorf("%s is refused twice", e.Input.ID)
						}
						ended[e.Input.ID] = true
					}
					if spoil == nil && tt.seen != nil && !slices.Equal(seen, tt.seen) {
						t.Errorf("the hook has seen %q, want %q", seen, tt.seen)
					}
					w.settled()
				}, collects)
			})
		}
	}
}
