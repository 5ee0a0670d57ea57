package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/llm"
	"agenthost/llm/llmtest"

	"github.com/google/go-cmp/cmp"
)

// A site is a model with a gate, and what its callers see of it. Each call
// takes a second.
type site struct {
	gate  *llm.Gate
	down  atomic.Pointer[llm.Error] // what each call fails with; nil: it answers
	calls atomic.Int64
	now   atomic.Int64
	most  atomic.Int64 // calls at once

	mu       sync.Mutex
	sessions []string // in the order of their calls
}

func newSite(r llm.Rate) *site { return &site{gate: llm.NewGate("main", r)} }

func (s *site) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.calls.Add(1)
		s.most.Store(max(s.most.Load(), s.now.Add(1)))
		s.mu.Lock()
		s.sessions = append(s.sessions, req.Session)
		s.mu.Unlock()
		down := s.down.Load()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			down = llm.Stopped(ctx)
		}
		s.now.Add(-1) // the gate lets the next one through with the last delta
		if down != nil {
			yield(llm.Delta{}, down)
			return
		}
		yield(llm.Delta{Text: "a", Finish: llm.FinishStop}, nil)
	}
}

func (s *site) chain() *llm.Chain {
	return &llm.Chain{Links: []llm.Link{{Name: "one", Provider: s, Gate: s.gate}}}
}

func (s *site) fail(err *llm.Error) { s.down.Store(err) }

// ask is one run along a chain.
func ask(ctx context.Context, c *llm.Chain, session string) (llm.Code, []llm.Attempt) {
	var attempts []llm.Attempt
	a := llmtest.Read(c.Stream(ctx, llm.Request{Session: session}, func(a llm.Attempt) { attempts = append(attempts, a) }))
	if a.Err == nil {
		return "", attempts
	}
	return llm.AsError(a.Err).Code, attempts
}

// once fails unless a call is let through that ends with code.
func (s *site) once(t *testing.T, code llm.Code) []llm.Attempt {
	t.Helper()
	got, attempts := ask(t.Context(), s.chain(), "s")
	if got != code {
		t.Fatalf("ended with %q, want %q", got, code)
	}
	return attempts
}

// open makes five runs fail at once.
func (s *site) open(t *testing.T) {
	t.Helper()
	s.fail(unavailable)
	ctx, cancel := context.WithTimeout(t.Context(), 1100*time.Millisecond)
	defer cancel()
	var ended sync.WaitGroup
	for range 5 {
		ended.Go(func() { ask(ctx, s.chain(), "s") })
	}
	ended.Wait()
	s.state(t, llm.Open)
}

func (s *site) state(t *testing.T, want llm.State) {
	t.Helper()
	if got := s.gate.Status().Breaker; got != want {
		t.Fatalf("the breaker is %s, want %s", got, want)
	}
}

func TestBreakerOpensAfterFiveFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(llm.Rate{})
		s.fail(unavailable)
		var ended sync.WaitGroup
		for i := range 100 {
			ended.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				ask(ctx, s.chain(), fmt.Sprint(i))
			})
		}
		ended.Wait()
		s.state(t, llm.Open)
		if n := s.calls.Load(); n != 100 { // all were under way when it opened
			t.Errorf("%d calls, want 100", n)
		}
	})
}

// While it is half open one call at a time is let through, however many wait.
func TestBreakerLetsOneProbeThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(llm.Rate{})
		s.open(t)
		if until := s.gate.Status().Until; until.IsZero() {
			t.Error("nobody is told until when it is open")
		}
		before := s.calls.Load()
		s.most.Store(0)
		var ended sync.WaitGroup
		var answered atomic.Int64
		var mu sync.Mutex
		var turned []llm.State
		chain := s.chain()
		chain.Observe = func(a llm.Attempt) {
			mu.Lock()
			defer mu.Unlock()
			turned = append(turned, a.Breaker...)
		}
		for i := range 200 {
			ended.Go(func() {
				if code, _ := ask(t.Context(), chain, fmt.Sprint(i)); code == "" {
					answered.Add(1)
				}
			})
		}
		time.Sleep(10*time.Second + 500*time.Millisecond)
		synctest.Wait()
		if n := s.calls.Load() - before; n != 1 {
			t.Errorf("%d probes, want 1", n)
		}
		s.state(t, llm.HalfOpen)
		time.Sleep(time.Second) // the probe has failed: open for 20 s
		synctest.Wait()
		s.state(t, llm.Open)
		s.fail(nil)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if most := s.most.Load(); most != 1 {
			t.Errorf("%d calls at once, want 1", most)
		}
		ended.Wait()
		s.state(t, llm.Closed)
		if n := answered.Load(); n != 200 {
			t.Errorf("%d runs were answered, want all 200", n)
		}
		want := []llm.State{llm.HalfOpen, llm.Open, llm.HalfOpen, llm.Closed}
		if diff := cmp.Diff(want, turned); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBreakerStaysOpenLongerEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(llm.Rate{})
		s.open(t)
		for _, seconds := range []int{10, 20, 40, 80, 120, 120} {
			opened := s.gate.Status()
			if got := time.Until(opened.Until); got > time.Duration(seconds)*time.Second || got <= 0 {
				t.Fatalf("open for %v, want %d s at most", got, seconds)
			}
			time.Sleep(time.Until(opened.Until))
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			ask(ctx, s.chain(), "s")
			cancel()
			s.state(t, llm.Open)
			if got := s.gate.Status().Until.Sub(opened.Until); got < time.Duration(min(2*seconds, 120))*time.Second {
				t.Fatalf("opened for %v after %d s", got, seconds)
			}
		}
	})
}

func TestWhatTheBreakerCounts(t *testing.T) {
	tests := map[string]struct {
		err  *llm.Error
		want llm.State
	}{
		"server error":   {unavailable, llm.Open},
		"timeout":        {llm.StatusError(408, nil, errors.New("slow")), llm.Open},
		"overloaded":     {llm.StatusError(529, nil, errors.New("overloaded")), llm.Open},
		"transport":      {llm.Unavailable(errors.New("no route")), llm.Open},
		"rate limit":     {llm.StatusError(429, nil, errors.New("slow down")), llm.Closed},
		"wrong request":  {badRequest, llm.Closed},
		"wrong key":      {badKey, llm.Closed},
		"no such model":  {llm.StatusError(404, nil, errors.New("no model")), llm.Closed},
		"filtered":       {filtered, llm.Closed},
		"our own fault":  {&llm.Error{Code: llm.CodeInternal, Err: errors.New("bug")}, llm.Closed},
		"the run's time": {&llm.Error{Code: llm.CodeRunTimeout, Err: context.DeadlineExceeded}, llm.Closed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(llm.Rate{})
				s.fail(tt.err)
				for range 6 {
					ctx, cancel := context.WithTimeout(t.Context(), 1100*time.Millisecond)
					ask(ctx, s.chain(), "s")
					cancel()
				}
				s.state(t, tt.want)
			})
		})
	}
}

func TestTripAndReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(llm.Rate{})
		s.gate.Trip()
		start := time.Now()
		attempts := s.once(t, llm.CodeProviderUnavailable)
		if len(attempts) != 1 || attempts[0].Skipped != llm.SkipTripped || attempts[0].Entry != "main" || time.Since(start) != 0 {
			t.Errorf("after %v: %+v", time.Since(start), attempts)
		}
		time.Sleep(time.Hour)
		s.state(t, llm.Tripped)
		s.gate.Reset()
		s.once(t, "")

		s.fail(limitedLong)
		s.once(t, llm.CodeProviderRateLimit)
		s.fail(nil)
		s.once(t, llm.CodeProviderRateLimit)
		s.gate.Reset()
		s.once(t, "")
	})
}

// One 429 keeps all runs away until its time is over.
func TestParkIsShared(t *testing.T) {
	for name, tt := range map[string]struct {
		err   *llm.Error
		until time.Duration
	}{
		"Retry-After":       {limited, 20 * time.Second},
		"without any":       {llm.StatusError(429, nil, errors.New("slow down")), 30 * time.Second},
		"a quota that ends": {noQuota, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(llm.Rate{})
				s.fail(tt.err)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				ask(ctx, s.chain(), "first")
				cancel()
				s.fail(nil)
				if got := s.gate.Status().Parked; !got.Equal(time.Now().Add(tt.until)) {
					t.Fatalf("parked until %v, want in %v", got, tt.until)
				}
				spare := newSite(llm.Rate{})
				both := &llm.Chain{Links: append(s.chain().Links, llm.Link{Name: "two", Provider: spare, Gate: spare.gate})}
				code, attempts := ask(t.Context(), both, "other")
				if code != "" || len(attempts) != 2 || attempts[0].Skipped != llm.SkipParked || attempts[1].Took != time.Second {
					t.Errorf("%q after %+v", code, attempts)
				}
				start := time.Now()
				var ended sync.WaitGroup
				for i := range 50 {
					ended.Go(func() {
						if code, _ := ask(t.Context(), s.chain(), fmt.Sprint(i)); code != "" {
							t.Errorf("ended with %q", code)
						}
					})
				}
				time.Sleep(tt.until - 2*time.Second)
				synctest.Wait()
				if n := s.calls.Load(); n != 1 {
					t.Errorf("%d calls while it is parked", n-1)
				}
				ended.Wait()
				if took := time.Since(start); took > tt.until+2*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestChainIsDown(t *testing.T) {
	sentence := func(t *testing.T, links ...llm.Link) (llm.Code, string) {
		a := llmtest.Read((&llm.Chain{Links: links}).Stream(t.Context(), llm.Request{}, func(llm.Attempt) {}))
		return llm.AsError(a.Err).Code, a.Err.Error()
	}
	synctest.Test(t, func(t *testing.T) {
		limits, trips := newSite(llm.Rate{}), newSite(llm.Rate{})
		limits.fail(limitedLong)
		trips.gate.Trip()
		one, two := limits.chain().Links[0], trips.chain().Links[0]
		if code, _ := sentence(t, one, one); code != llm.CodeProviderRateLimit {
			t.Errorf("only limits: %s", code)
		}
		code, text := sentence(t, one, two)
		if code != llm.CodeProviderUnavailable || strings.Contains(text, "\n") || !strings.Contains(text, "out of service by hand") {
			t.Errorf("both: %s, %s", code, text)
		}
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(llm.Rate{Requests: 60, Burst: 5})
		var ended sync.WaitGroup
		start := time.Now()
		for i := range 20 {
			ended.Go(func() { ask(t.Context(), s.chain(), fmt.Sprint(i)) })
		}
		synctest.Wait()
		if n := s.calls.Load(); n != 5 {
			t.Errorf("%d calls at once, want a burst of 5", n)
		}
		ended.Wait()
		if took := time.Since(start); took < 16*time.Second || took > 16*time.Second+100*time.Millisecond {
			t.Errorf("20 calls took %v, want 15 s for the tokens and one for the last call", took)
		}
	})
}

func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(llm.Rate{Concurrency: 3})
		var ended sync.WaitGroup
		start := time.Now()
		for i := range 12 {
			ended.Go(func() { ask(t.Context(), s.chain(), fmt.Sprint(i)) })
		}
		synctest.Wait()
		if got := s.gate.Status(); got.InFlight != 3 || got.Waiting != 9 {
			t.Errorf("got %+v", got)
		}
		ended.Wait()
		if most, took := s.most.Load(), time.Since(start); most != 3 || took != 4*time.Second {
			t.Errorf("%d at once, took %v", most, took)
		}
	})
}

// A session with much to ask does not keep the others waiting.
func TestSessionsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(llm.Rate{Concurrency: 1})
		var ended sync.WaitGroup
		for _, session := range []string{"a", "a", "a", "a", "b", "b", "c"} {
			ended.Go(func() { ask(t.Context(), s.chain(), session) })
			synctest.Wait()
		}
		ended.Wait()
		if want := []string{"a", "a", "b", "c", "a", "b", "a"}; !slices.Equal(s.sessions, want) {
			t.Errorf("got %v, want %v", s.sessions, want)
		}
	})
}

// Who gives up leaves the line, and nothing is lost by it.
func TestLeavingTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(llm.Rate{Concurrency: 2})
		var ended sync.WaitGroup
		for i := range 40 {
			ended.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%4+1)*time.Second)
				defer cancel()
				ask(ctx, s.chain(), fmt.Sprint(i%5))
			})
		}
		ended.Wait()
		if got := s.gate.Status(); got.InFlight != 0 || got.Waiting != 0 {
			t.Errorf("got %+v", got)
		}
		s.once(t, "")
	})
}

// A park sends those in line to the next model.
func TestTheLineMovesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, spare := newSite(llm.Rate{Concurrency: 1}), newSite(llm.Rate{})
		s.fail(limited)
		chain := &llm.Chain{Links: append(s.chain().Links, llm.Link{Name: "two", Provider: spare, Gate: spare.gate})}
		start := time.Now()
		var ended sync.WaitGroup
		for i := range 10 {
			ended.Go(func() { ask(t.Context(), chain, fmt.Sprint(i)) })
		}
		ended.Wait()
		if took := time.Since(start); took != 2*time.Second || spare.calls.Load() != 10 {
			t.Errorf("%d calls of the spare, after %v", spare.calls.Load(), took)
		}
	})
}

// A reader that breaks down gives its place back.
func TestPanicGivesThePassBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(llm.Rate{Concurrency: 1})
		func() {
			defer func() { _ = recover() }()
			for range s.chain().Stream(t.Context(), llm.Request{}, func(llm.Attempt) {}) {
				panic("reader")
			}
		}()
		if got := s.gate.Status(); got.InFlight != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestRefresh(t *testing.T) {
	tests := map[string]struct {
		refresh func(good llm.Provider) (llm.Provider, error)
		code    llm.Code
		calls   int64 // with the old key
	}{
		"a new key":    {func(good llm.Provider) (llm.Provider, error) { return good, nil }, "", 20},
		"the same key": {func(llm.Provider) (llm.Provider, error) { return nil, nil }, llm.CodeProviderAuth, 20},
		"cannot look":  {func(llm.Provider) (llm.Provider, error) { return nil, errors.New("no file") }, llm.CodeProviderAuth, 20},
		"no better key": {func(llm.Provider) (llm.Provider, error) {
			worse := newSite(llm.Rate{})
			worse.fail(badKey)
			return worse, nil
		}, llm.CodeProviderAuth, 20},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				old, renewed := newSite(llm.Rate{}), newSite(llm.Rate{})
				old.fail(badKey)
				looks := atomic.Int64{}
				chain := old.chain()
				chain.Links[0].Refresh = func(context.Context) (llm.Provider, error) {
					looks.Add(1)
					time.Sleep(time.Second)
					return tt.refresh(renewed)
				}
				var ended sync.WaitGroup
				for i := range 20 {
					ended.Go(func() {
						if code, _ := ask(t.Context(), chain, fmt.Sprint(i)); code != tt.code {
							t.Errorf("ended with %q, want %q", code, tt.code)
						}
					})
				}
				ended.Wait()
				if old.calls.Load() != tt.calls || looks.Load() != 1 {
					t.Errorf("%d calls with the old key, %d looks", old.calls.Load(), looks.Load())
				}
				if tt.code == "" { // another chain has it, too
					if code, attempts := ask(t.Context(), old.chain(), "s"); code != "" || len(attempts) != 1 {
						t.Errorf("%q after %+v", code, attempts)
					}
				}
			})
		})
	}
}

func TestRedact(t *testing.T) {
	chain := chainOf(answer{err: llm.StatusError(401, nil, errors.New("wrong key sk-1"))})
	chain.Redact = func(s string) string { return strings.ReplaceAll(s, "sk-1", "[key]") }
	synctest.Test(t, func(t *testing.T) {
		var told []string
		chain.Observe = func(a llm.Attempt) { told = append(told, a.Err.Error()) }
		a := llmtest.Read(chain.Stream(t.Context(), llm.Request{}, func(a llm.Attempt) { told = append(told, a.Err.Error()) }))
		for _, text := range append(told, a.Err.Error()) {
			if text != "model: status 401: wrong key [key]" {
				t.Errorf("told %q", text)
			}
		}
	})
}

func BenchmarkGate(b *testing.B) {
	chain := &llm.Chain{Links: []llm.Link{{Name: "one", Provider: instant{}, Gate: llm.NewGate("main", llm.Rate{})}}}
	b.ReportAllocs()
	for b.Loop() {
		for range chain.Stream(b.Context(), llm.Request{}, func(llm.Attempt) {}) {
		}
	}
}

type instant struct{}

func (instant) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{Text: "a", Finish: llm.FinishStop}, nil) }
}
