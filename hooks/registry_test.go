package hooks_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"agenthost/bus/bustest"
	"agenthost/hooks"
)

// note returns a handler that writes its name down.
func note(got *[]string, name string) hooks.Handler {
	return func(context.Context, hooks.Call) (hooks.Outcome, error) {
		*got = append(*got, name)
		return hooks.Outcome{}, nil
	}
}

func add(t testing.TB, r *hooks.Registry, point string, priority int, h hooks.Handler) (remove func()) {
	t.Helper()
	remove, err := r.Add(point, priority, "test", h, hooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return remove
}

func TestOrder(t *testing.T) {
	r := hooks.New(zerolog.Nop())
	var got []string
	add(t, r, "any name", 10, note(&got, "ten"))
	add(t, r, "any name", -1, note(&got, "minus one"))
	removeTwin := add(t, r, "any name", 10, note(&got, "ten again"))
	add(t, r, "any name", 5, note(&got, "five"))
	add(t, r, "another", 0, note(&got, "elsewhere"))

	r.Fire(t.Context(), hooks.Call{Hook: "any name"})
	if diff := cmp.Diff([]string{"minus one", "five", "ten", "ten again"}, got); diff != "" {
		t.Errorf("handlers called (-want +got):\n%s", diff)
	}

	got = nil
	removeTwin()
	removeTwin()
	r.Fire(t.Context(), hooks.Call{Hook: "any name"})
	if diff := cmp.Diff([]string{"minus one", "five", "ten"}, got); diff != "" {
		t.Errorf("handlers called after one was removed (-want +got):\n%s", diff)
	}
}

func TestHas(t *testing.T) {
	var r hooks.Registry
	if r.Has(hooks.OnError) {
		t.Error("the zero registry has a handler")
	}
	remove := add(t, &r, hooks.OnError, 0, note(new([]string), ""))
	if !r.Has(hooks.OnError) {
		t.Error("no handler after Add")
	}
	remove()
	if r.Has(hooks.OnError) {
		t.Error("a handler after remove")
	}
}

func TestCap(t *testing.T) {
	var log bustest.LogBuffer
	r := hooks.New(zerolog.New(&log))
	var remove func()
	for range hooks.MaxPerName {
		remove = add(t, r, hooks.BeforeMessage, 0, note(new([]string), ""))
	}
	_, err := r.Add(hooks.BeforeMessage, 0, "one more", note(new([]string), ""), hooks.Options{})
	if !errors.Is(err, hooks.ErrFull) {
		t.Errorf("got error %v, want ErrFull", err)
	}
	if !strings.Contains(log.String(), `"handler":"one more"`) {
		t.Errorf("the refused hook is not in the log: %q", log.String())
	}
	add(t, r, hooks.AfterMessage, 0, note(new([]string), ""))
	remove()
	add(t, r, hooks.BeforeMessage, 0, note(new([]string), ""))
}

func TestAddRefuses(t *testing.T) {
	var r hooks.Registry
	if _, err := r.Add("x", 0, "none", nil, hooks.Options{}); err == nil {
		t.Error("a nil handler was added")
	}
	if _, err := r.Add("x", 0, "hasty", note(nil, ""), hooks.Options{Timeout: -time.Second}); err == nil {
		t.Error("a negative timeout was taken")
	}
}

// TestConcurrent is for the race detector: firing reads what others replace.
func TestConcurrent(t *testing.T) {
	r := hooks.New(zerolog.Nop())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				remove := add(t, r, hooks.OnError, 0, func(context.Context, hooks.Call) (hooks.Outcome, error) {
					return hooks.Outcome{}, nil
				})
				r.Fire(t.Context(), hooks.Call{Hook: hooks.OnError})
				remove()
			}
		})
	}
	wg.Wait()
	if r.Has(hooks.OnError) {
		t.Error("a handler is left over")
	}
}

func TestPoints(t *testing.T) {
	points := hooks.Points()
	if len(points) != 9 {
		t.Errorf("got %d points, want 9", len(points))
	}
	points[0] = "changed"
	if hooks.Points()[0] != hooks.BeforeMessage {
		t.Error("the caller's copy changed the list")
	}
}
