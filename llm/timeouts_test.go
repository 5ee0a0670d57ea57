package llm_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

// A hung model says some pieces, one each minute less a second, and then nothing
// until its ctx ends.
type hung []llm.Delta

func (h hung) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, d := range h {
			select {
			case <-time.After(59 * time.Second):
			case <-ctx.Done():
				yield(llm.Delta{}, llm.Stopped(ctx))
				return
			}
			if !yield(d, nil) {
				return
			}
		}
		<-ctx.Done()
		yield(llm.Delta{}, llm.Stopped(ctx))
	}
}

// By default a model has 60 s for its first byte and for each further one, and
// ten minutes in all; then the next one is asked at once.
func TestDefaultTimeouts(t *testing.T) {
	thought := llm.Delta{Reasoning: "hm"}
	tests := map[string]struct {
		model hung
		want  string
		after time.Duration
	}{
		"says nothing":     {nil, "no first byte of the answer within 1m0s", time.Minute},
		"falls silent":     {hung{thought}, "nothing more of the answer within 1m0s", 119 * time.Second},
		"falls silent, by": {hung{thought, thought}, "nothing more of the answer within 1m0s", 178 * time.Second},
		"never ends":       {slices.Repeat(hung{thought}, 1000), "no end of the answer within 10m0s", 10 * time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chain := llm.Chain{Links: []llm.Link{
					{Name: "main", Provider: tt.model, Timeouts: llm.Timeouts{}.OrDefault()},
					{Name: "spare", Provider: &model{answers: []answer{good}}},
				}}
				start := time.Now()
				text, attempts, err := answerOf(t.Context(), &chain)
				if err != nil || text != "ab" || len(attempts) != 2 {
					t.Fatalf("got %q, %v after %d attempts, want the spare's answer", text, err, len(attempts))
				}
				if e := llm.AsError(attempts[0].Err); !e.TimedOut || !strings.Contains(e.Error(), tt.want) || attempts[0].Took != tt.after {
					t.Errorf("got %v after %v, want %q after %v", e, attempts[0].Took, tt.want, tt.after)
				}
				if took := time.Since(start); took != tt.after+time.Second {
					t.Errorf("answered after %v, want %v", took, tt.after+time.Second)
				}
			})
		})
	}
}

// A model without a spare is tried again, three times in all.
func TestTimeoutWithoutASpare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chain := llm.Chain{Links: []llm.Link{{Name: "main", Provider: hung{}, Timeouts: llm.Timeouts{First: time.Second}}}}
		_, attempts, err := answerOf(t.Context(), &chain)
		if e := llm.AsError(err); e == nil || e.Code != llm.CodeProviderUnavailable || len(attempts) != 3 {
			t.Errorf("got %v after %d attempts, want provider_unavailable after 3", err, len(attempts))
		}
	})
}

// Timeouts count for the breaker: the sixth run does not wait for the model.
func TestTimeoutsOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := llm.NewGate("main", llm.Rate{})
		chain := llm.Chain{Links: []llm.Link{
			{Name: "main", Provider: hung{}, Gate: gate, Timeouts: llm.Timeouts{First: time.Second}},
			{Name: "spare", Provider: &model{answers: []answer{good}}},
		}}
		for range 5 {
			if _, attempts, err := answerOf(t.Context(), &chain); err != nil || len(attempts) != 2 {
				t.Fatalf("%d attempts, %v, want two", len(attempts), err)
			}
		}
		if s := gate.Status(); s.Breaker != llm.Open {
			t.Errorf("breaker: got %s, want open", s.Breaker)
		}
		_, attempts, err := answerOf(t.Context(), &chain)
		if err != nil || len(attempts) != 2 || attempts[0].Skipped != llm.SkipOpen {
			t.Errorf("got %+v, %v, want the model passed over", attempts, err)
		}
	})
}

// The end of the run wins over a timeout, and a caller who takes long is not
// taken for a model that does.
func TestTimeoutsAreTheModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		chain := llm.Chain{Links: []llm.Link{{Name: "main", Provider: hung{}, Timeouts: llm.Timeouts{First: 2 * time.Second}}}}
		if _, _, err := answerOf(ctx, &chain); err == nil || llm.AsError(err).Code != llm.CodeRunTimeout {
			t.Errorf("got %v, want run_timeout", err)
		}
		chain.Links[0] = llm.Link{Name: "main", Provider: &model{answers: []answer{good}}, Timeouts: llm.Timeouts{Idle: time.Second}}
		for _, err := range chain.Stream(t.Context(), llmtest.Request(), func(llm.Attempt) {}) {
			if err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		}
	})
}

// What came of an attempt that failed before its first word is taken back.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := []llm.Delta{
			{Reasoning: "old", Usage: &llm.Usage{Input: 5}},
			{Call: &llm.CallDelta{Index: 0, ID: "c1", Name: "f", Args: `{"x":`}},
		}
		call := []llm.Delta{{Call: &llm.CallDelta{Index: 0, ID: "c2", Name: "g", Args: `{}`}}, {Finish: llm.FinishToolCalls}}
		a := llmtest.Read(chainOf(answer{begun, unavailable}, answer{deltas: call}).Stream(t.Context(), llmtest.Request(), func(llm.Attempt) {}))
		if a.Err != nil || a.Fault != nil {
			t.Fatal(a.Err, a.Fault)
		}
		calls := a.Message.Calls()
		if len(a.Message.Parts) != 1 || len(calls) != 1 || calls[0].Call != "c2" || calls[0].Name != "g" {
			t.Errorf("got %+v, want the call of the second attempt alone", a.Message)
		}
		if a.Usage != (llm.Usage{}) {
			t.Errorf("usage: got %+v, want that of the second attempt", a.Usage)
		}
		restarts := 0
		for _, d := range a.Deltas {
			if d.Restart {
				restarts++
			}
		}
		if restarts != 1 || !a.Deltas[2].Restart {
			t.Errorf("got %+v, want one restart with the third delta", a.Deltas)
		}
	})
}

// A request may allow an answer that says nothing.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{answers: []answer{{deltas: []llm.Delta{{Finish: llm.FinishStop}}}}}
		chain := llm.Chain{Links: []llm.Link{{Name: "one", Provider: m}}}
		a := llmtest.Read(chain.Stream(t.Context(), llm.Request{Silence: true}, func(llm.Attempt) {}))
		if a.Err != nil || len(m.asked) != 1 {
			t.Errorf("got %v after %d calls, want an empty answer after one", a.Err, len(m.asked))
		}
	})
}
