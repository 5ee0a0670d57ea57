package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/llm"
)

var noSocket = llm.Unavailable(&url.Error{Op: "Post", URL: "http://model", Err: fmt.Errorf("dial tcp: socket: %w", syscall.EMFILE)})

// A process without descriptors waits for one within the time of the run: its
// model is not to blame, its breaker stays closed and the next one is not asked.
func TestChainWaitsForDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{answers: append(failing(noSocket, noSocket, noSocket, noSocket, noSocket, noSocket, noSocket), good)}
		other := &model{answers: []answer{good}}
		gate := llm.NewGate("main", llm.Rate{})
		c := &llm.Chain{Links: []llm.Link{{Name: "main", Provider: m, Gate: gate}, {Name: "other", Provider: other}}}
		text, attempts, err := answerOf(t.Context(), c)
		if err != nil || text != "ab" {
			t.Fatalf("got %q, %v, want the answer", text, err)
		}
		if len(m.asked) != 8 || len(other.asked) != 0 {
			t.Errorf("asked: got %d and %d, want 8 and 0", len(m.asked), len(other.asked))
		}
		for _, a := range attempts[:7] {
			if a.Code() != llm.CodeInternal || len(a.Breaker) > 0 {
				t.Errorf("attempt %d: got %s, breaker %v, want internal and a closed breaker", a.Number, a.Code(), a.Breaker)
			}
		}
		if s := gate.Status(); s.Breaker != llm.Closed {
			t.Errorf("breaker: got %s", s.Breaker)
		}
	})
}

// An attempt that did not reach the model is none of its three.
func TestChainCountsOnlyWhatReachedTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{answers: failing(unavailable, noSocket, unavailable, noSocket, unavailable, noSocket)}
		_, attempts, err := answerOf(t.Context(), &llm.Chain{Links: []llm.Link{{Name: "main", Provider: m}}})
		if got := llm.AsError(err).Code; got != llm.CodeProviderUnavailable || len(attempts) != 5 {
			t.Errorf("got %s after %d attempts, want provider_unavailable after 5", got, len(attempts))
		}
	})
}

func TestChainWaitsForDescriptorsNoLongerThanTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		m := &model{answers: failing(noSocket)}
		_, _, err := answerOf(ctx, &llm.Chain{Links: []llm.Link{{Name: "main", Provider: m}}})
		if got := llm.AsError(err).Code; got != llm.CodeRunTimeout {
			t.Errorf("got %v, want run_timeout", err)
		}
	})
}

func TestNoDescriptors(t *testing.T) {
	for err, want := range map[error]bool{
		nil:                false,
		io.EOF:             false,
		syscall.EMFILE:     true,
		syscall.ENFILE:     true,
		syscall.ENOSPC:     false,
		noSocket:           true,
		syscall.ECONNRESET: false,
		errors.New("lookup model: dial udp: socket: too many open files"): true,
	} {
		if got := llm.NoDescriptors(err); got != want {
			t.Errorf("%v: got %v", err, got)
		}
	}
}

// answerOf reads a stream to its end.
func answerOf(ctx context.Context, c *llm.Chain) (text string, attempts []llm.Attempt, err error) {
	for d, fault := range c.Stream(ctx, llm.Request{}, func(a llm.Attempt) { attempts = append(attempts, a) }) {
		text += d.Text
		err = fault
	}
	return text, attempts, err
}
