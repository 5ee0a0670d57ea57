package llm_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

// A late model says its answer after a time, or ends with err then.
type late struct {
	after time.Duration
	text  string
	err   error
	left  chan struct{} // closed when it was cancelled; nil: not looked at
}

func (l late) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		select {
		case <-time.After(l.after):
		case <-ctx.Done():
			if l.left != nil {
				close(l.left)
			}
			yield(llm.Delta{}, llm.Stopped(ctx))
			return
		}
		if l.err != nil {
			yield(llm.Delta{}, l.err)
			return
		}
		if yield(llm.Delta{Text: l.text}, nil) {
			yield(llm.Delta{Finish: llm.FinishStop}, nil)
		}
	}
}

func TestHedge(t *testing.T) {
	dead := errors.New("dead")
	down := llm.Unavailable(dead)
	tests := map[string]struct {
		main, spare late
		text        string
		entries     []string // in the order in which they ended
		codes       []llm.Code
		took        time.Duration
	}{
		"in time":                    {late{after: 7 * time.Second, text: "main"}, late{text: "spare"}, "main", []string{"main"}, []llm.Code{""}, 7 * time.Second},
		"the spare is faster":        {late{after: time.Hour}, late{after: 2 * time.Second, text: "spare"}, "spare", []string{"main", "spare"}, []llm.Code{llm.CodeCancelled, ""}, 10 * time.Second},
		"the first speaks after all": {late{after: 9 * time.Second, text: "main"}, late{after: time.Hour}, "main", []string{"spare", "main"}, []llm.Code{llm.CodeCancelled, ""}, 9 * time.Second},
		"the spare fails":            {late{after: 20 * time.Second, text: "main"}, late{after: time.Second, err: down}, "main", []string{"spare", "main"}, []llm.Code{llm.CodeProviderUnavailable, ""}, 20 * time.Second},
		"the first fails":            {late{after: 9 * time.Second, err: down}, late{after: 5 * time.Second, text: "spare"}, "spare", []string{"main", "spare"}, []llm.Code{llm.CodeProviderUnavailable, ""}, 13 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chain := hedged(tt.main, tt.spare)
				start := time.Now()
				text, attempts, err := answerOf(t.Context(), chain)
				if err != nil || text != tt.text || time.Since(start) != tt.took {
					t.Errorf("got %q, %v after %v, want %q after %v", text, err, time.Since(start), tt.text, tt.took)
				}
				var entries []string
				var codes []llm.Code
				for _, a := range attempts {
					entries, codes = append(entries, a.Entry), append(codes, a.Code())
				}
				if !slices.Equal(entries, tt.entries) || !slices.Equal(codes, tt.codes) {
					t.Errorf("got %q, %q, want %q, %q", entries, codes, tt.entries, tt.codes)
				}
			})
		})
	}
}

func hedged(main, spare llm.Provider) *llm.Chain {
	price := &llm.Price{Input: 1, Output: 1}
	return &llm.Chain{Links: []llm.Link{
		{Name: "p", Gate: llm.NewGate("main", llm.Rate{}), Provider: main, Hedge: 8 * time.Second, Price: price},
		{Name: "p", Gate: llm.NewGate("spare", llm.Rate{}), Provider: spare, Price: price},
	}}
}

// Both calls are paid: the one that lost at what it was expected to cost, as it
// reports nothing. Each reservation is settled once.
func TestHedgeIsBooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan struct{})
		chain := hedged(late{after: time.Hour, left: left}, late{after: time.Second, text: "spare"})
		booked := map[string][]int64{}
		chain.Admit = func(_ context.Context, l llm.Link, _ llm.Request) (llm.Admission, error) {
			name := l.Gate.Name()
			return llm.Admission{Expected: 77, Settle: func(cost int64) { booked[name] = append(booked[name], cost) }}, nil
		}
		_, attempts, err := answerOf(t.Context(), chain)
		if err != nil || len(attempts) != 2 {
			t.Fatalf("got %v after %d attempts", err, len(attempts))
		}
		<-left
		if a := attempts[0]; a.Cost != 77 || !a.Priced || !strings.Contains(a.Reason(), "another model of the chain was faster: spare") {
			t.Errorf("loser: got cost %d, reason %q", a.Cost, a.Reason())
		}
		if !slices.Equal(booked["main"], []int64{77}) || !slices.Equal(booked["spare"], []int64{77}) {
			t.Errorf("booked: got %v, want 77 for each", booked)
		}
		for _, l := range chain.Links {
			if s := l.Gate.Status(); s.InFlight != 0 || s.Breaker != llm.Closed {
				t.Errorf("gate of %s: got %+v", l.Gate.Name(), s)
			}
		}
	})
}

// A budget that has no room for a second call leaves the first alone.
func TestHedgeThatIsNotAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spare := &model{answers: []answer{good}}
		chain := hedged(late{after: 30 * time.Second, text: "main"}, spare)
		chain.Admit = func(ctx context.Context, l llm.Link, _ llm.Request) (llm.Admission, error) {
			if l.Gate.Name() == "spare" { // as a budget waits for the call under way
				<-ctx.Done()
				return llm.Admission{}, context.Cause(ctx)
			}
			return llm.Admission{}, nil
		}
		text, attempts, err := answerOf(t.Context(), chain)
		if err != nil || text != "main" || len(attempts) != 1 || len(spare.asked) != 0 {
			t.Errorf("got %q, %v after %d attempts", text, err, len(attempts))
		}
	})
}

// When neither answers, each is tried as often as without a hedge, and the error
// is that of the chain.
func TestHedgeWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := llm.Unavailable(errors.New("dead"))
		chain := hedged(late{after: 10 * time.Second, err: down}, late{after: 10 * time.Second, err: down})
		_, attempts, err := answerOf(t.Context(), chain)
		if e := llm.AsError(err); e == nil || e.Code != llm.CodeProviderUnavailable || len(attempts) != 6 {
			t.Errorf("got %v after %d attempts, want provider_unavailable after 6", err, len(attempts))
		}
	})
}

// The end of the run ends both calls, and leaving the stream too.
func TestHedgeEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, attempts, err := answerOf(ctx, hedged(late{after: time.Hour}, late{after: time.Hour}))
		if e := llm.AsError(err); e == nil || e.Code != llm.CodeRunTimeout || len(attempts) != 2 {
			t.Errorf("got %v after %d attempts, want run_timeout after 2", err, len(attempts))
		}
		for range hedged(late{after: time.Hour}, late{text: "spare"}).Stream(t.Context(), llmtest.Request(), func(llm.Attempt) {}) {
			break
		}
	})
}

type panics struct{}

func (panics) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(func(llm.Delta, error) bool) { panic("broken provider") }
}

// A panic of a provider is the caller's to recover, as without a hedge.
func TestHedgedPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if p := recover(); p != "broken provider" {
				t.Errorf("recovered %v", p)
			}
		}()
		_, _, err := answerOf(t.Context(), hedged(late{after: time.Hour}, panics{}))
		t.Errorf("ended with %v", err)
	})
}
