package llm_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

// A counted server says what err is now, or answers after a time.
type counted struct {
	asked int
	err   error
	takes time.Duration
}

func (c *counted) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	c.asked++
	return late{after: c.takes, text: "ok", err: c.err}.Stream(ctx, req)
}

func poolOf(servers ...*counted) *llm.Pool {
	var list []llm.Provider
	for _, s := range servers {
		list = append(list, s)
	}
	return llm.NewPool(list...)
}

func chainOfPool(p *llm.Pool, gate *llm.Gate) *llm.Chain {
	return &llm.Chain{Links: []llm.Link{{Name: "p", Provider: p, Gate: gate}}}
}

func TestPoolSharesTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := &counted{}, &counted{}, &counted{}
		pool := poolOf(a, b, c)
		for range 9 {
			if got := llmtest.Read(pool.Stream(t.Context(), llm.Request{})); got.Err != nil || got.Fault != nil {
				t.Fatal(got.Err, got.Fault)
			}
		}
		if got := []int{a.asked, b.asked, c.asked}; !slices.Equal(got, []int{3, 3, 3}) {
			t.Errorf("one after the other: got %v, want 3 each", got)
		}
		busy, idle := &counted{takes: time.Hour}, &counted{}
		pool = poolOf(busy, idle)
		go llmtest.Read(pool.Stream(t.Context(), llm.Request{}))
		synctest.Wait()
		for range 5 {
			llmtest.Read(pool.Stream(t.Context(), llm.Request{}))
		}
		if busy.asked != 1 || idle.asked != 5 {
			t.Errorf("with one busy: got %d and %d, want 1 and 5", busy.asked, idle.asked)
		}
		time.Sleep(time.Hour)
	})
}

// A server that fails, or has a rate limit, is avoided for a while; the model has
// another, so its breaker stays closed, it is not parked and nothing is waited for.
func TestPoolAvoidsWhatFails(t *testing.T) {
	tests := map[string]struct {
		err     error
		avoided time.Duration
	}{
		"unavailable": {unavailable, 10 * time.Second},
		"no model":    {llm.StatusError(404, nil, errors.New("no such model")), 10 * time.Second},
		"rate limit":  {limited, 30 * time.Second},
		"an hour":     {limitedLong, time.Hour},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad, good := &counted{err: tt.err}, &counted{}
				gate := llm.NewGate("main", llm.Rate{})
				chain := chainOfPool(poolOf(bad, good), gate)
				start := time.Now()
				for range 10 {
					if text, _, err := answerOf(t.Context(), chain); err != nil || text != "ok" {
						t.Fatal(text, err)
					}
				}
				if bad.asked != 1 || good.asked != 10 || time.Since(start) != 0 {
					t.Errorf("asked %d and %d times in %v, want 1 and 10 at once", bad.asked, good.asked, time.Since(start))
				}
				if s := gate.Status(); s.Breaker != llm.Closed || !s.Parked.IsZero() {
					t.Errorf("gate: got %+v", s)
				}
				bad.err = nil
				time.Sleep(tt.avoided)
				for range 2 {
					answerOf(t.Context(), chain)
				}
				if bad.asked != 2 {
					t.Errorf("after %v: asked %d times, want 2", tt.avoided, bad.asked)
				}
			})
		})
	}
}

// With all servers down the model is: each is asked once before the usual tries.
func TestPoolIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := &counted{err: unavailable}, &counted{err: unavailable}, &counted{err: unavailable}
		gate := llm.NewGate("main", llm.Rate{})
		_, attempts, err := answerOf(t.Context(), chainOfPool(poolOf(a, b, c), gate))
		if e := llm.AsError(err); e == nil || e.Code != llm.CodeProviderUnavailable || len(attempts) != 5 {
			t.Errorf("got %v after %d attempts, want provider_unavailable after 5", err, len(attempts))
		}
		if a.asked == 0 || b.asked == 0 || c.asked == 0 {
			t.Errorf("asked %d, %d and %d times, want each", a.asked, b.asked, c.asked)
		}
		limitedA, limitedB := &counted{err: limited}, &counted{err: limited}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, _, err := answerOf(ctx, chainOfPool(poolOf(limitedA, limitedB), gate)); llm.AsError(err).Code != llm.CodeProviderRateLimit {
			t.Errorf("got %v, want provider_rate_limit", err)
		}
		if gate.Status().Parked.IsZero() {
			t.Error("the model is not parked, with all its servers at their limit")
		}
	})
}

// A request that is wrong, a refused key and a stopped run say nothing of a server.
func TestPoolDoesNotBlameTheServer(t *testing.T) {
	for name, err := range map[string]error{"request": badRequest, "key": badKey, "filter": filtered} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := &counted{err: err}, &counted{err: err}
				pool := poolOf(a, b)
				for range 4 {
					if got := llmtest.Read(pool.Stream(t.Context(), llm.Request{})); llm.AsError(got.Err).Elsewhere {
						t.Error("another server would do")
					}
				}
				if a.asked != 2 || b.asked != 2 {
					t.Errorf("asked %d and %d times, want 2 each", a.asked, b.asked)
				}
			})
		})
	}
}

// A server that hangs is avoided like one that fails.
func TestPoolAvoidsWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs, good := &counted{takes: time.Hour}, &counted{}
		chain := chainOfPool(poolOf(hangs, good), nil)
		chain.Links[0].Timeouts.First = time.Second
		for range 5 {
			if text, _, err := answerOf(t.Context(), chain); err != nil || text != "ok" {
				t.Fatal(text, err)
			}
		}
		if hangs.asked != 1 {
			t.Errorf("asked %d times, want once", hangs.asked)
		}
	})
}
