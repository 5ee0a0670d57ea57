package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"

	"agenthost/bus/bustest"
	"agenthost/hooks"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func answering(out hooks.Outcome) hooks.Handler {
	return func(context.Context, hooks.Call) (hooks.Outcome, error) { return out, nil }
}

func TestOutcomes(t *testing.T) {
	given := hooks.Args{"name": raw(`"ls"`), "args": raw(`{}`)}
	override := hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"name": raw(`"cat"`)}}
	second := hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"args": raw(`[1]`)}}
	tests := map[string]struct {
		point    string
		handlers []hooks.Handler
		want     hooks.Outcome
	}{
		"none":                    {hooks.BeforeToolCall, nil, hooks.Outcome{Action: hooks.Continue, Args: given}},
		"zero outcome":            {hooks.BeforeToolCall, []hooks.Handler{answering(hooks.Outcome{})}, hooks.Outcome{Action: hooks.Continue, Args: given}},
		"continue drops its args": {hooks.BeforeToolCall, []hooks.Handler{answering(hooks.Outcome{Action: hooks.Continue, Args: hooks.Args{"name": raw(`1`)}})}, hooks.Outcome{Action: hooks.Continue, Args: given}},
		"one key overridden":      {hooks.BeforeToolCall, []hooks.Handler{answering(override)}, hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"name": raw(`"cat"`), "args": raw(`{}`)}}},
		"both keys, by two":       {hooks.AfterToolCall, []hooks.Handler{answering(override), answering(second)}, hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"name": raw(`"cat"`), "args": raw(`[1]`)}}},
		"override of nothing":     {hooks.BeforeToolCall, []hooks.Handler{answering(hooks.Outcome{Action: hooks.Override})}, hooks.Outcome{Action: hooks.Continue, Args: given}},
		"abort":                   {hooks.BeforeToolCall, []hooks.Handler{answering(hooks.Outcome{Action: hooks.Abort, Reason: "Not on Sundays."}), answering(override)}, hooks.Outcome{Action: hooks.Abort, Reason: "Not on Sundays."}},
		"abort without a reason":  {hooks.BeforeToolCall, []hooks.Handler{answering(hooks.Outcome{Action: hooks.Abort})}, hooks.Outcome{Action: hooks.Abort}},
		"abort where none counts": {hooks.AfterToolCall, []hooks.Handler{answering(hooks.Outcome{Action: hooks.Abort}), answering(override)}, hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"name": raw(`"cat"`), "args": raw(`{}`)}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := hooks.New(zerolog.New(zerolog.NewTestWriter(t)))
			for _, h := range tt.handlers {
				add(t, r, tt.point, 0, h)
			}
			got := r.Fire(t.Context(), hooks.Call{Hook: tt.point, Args: given})
			if diff := cmp.Diff(tt.want, got, withoutActs); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if string(given["name"]) != `"ls"` {
				t.Errorf("the caller's arguments became %s", given)
			}
		})
	}
}

func TestNextSeesOverride(t *testing.T) {
	r := hooks.New(zerolog.Nop())
	add(t, r, hooks.BeforeMessage, 1, answering(hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": raw(`2`)}}))
	var seen string
	add(t, r, hooks.BeforeMessage, 2, func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
		seen = string(call.Args["message"])
		return hooks.Outcome{}, nil
	})
	out := r.Fire(t.Context(), hooks.Call{Hook: hooks.BeforeMessage, Args: hooks.Args{"message": raw(`1`)}})
	if seen != "2" || string(out.Args["message"]) != "2" {
		t.Errorf("next handler saw %s and the caller %s, want 2 and 2", seen, out.Args["message"])
	}
}

func TestFaults(t *testing.T) {
	faults := map[string]struct {
		handler hooks.Handler
		logged  string
	}{
		"error": {func(context.Context, hooks.Call) (hooks.Outcome, error) {
			return hooks.Outcome{}, errors.New("db down")
		}, `"error":"db down"`},
		"panic": {func(context.Context, hooks.Call) (hooks.Outcome, error) { panic("boom") }, `"error":"panic: boom"`},
		"goexit": {func(context.Context, hooks.Call) (hooks.Outcome, error) {
			runtime.Goexit()
			return hooks.Outcome{}, nil
		}, `"error":"handler ended without an answer"`},
		"timeout": {func(ctx context.Context, _ hooks.Call) (hooks.Outcome, error) {
			<-ctx.Done()
			return hooks.Outcome{}, ctx.Err()
		}, `"error":"no answer within 5s"`},
		"unknown action": {answering(hooks.Outcome{Action: "explode"}), `unknown action`},
		"not JSON":       {answering(hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": raw(`{`)}}), `not JSON`},
	}
	modes := map[string]struct {
		point  string
		closed bool
		want   hooks.Action
	}{
		"open":                 {hooks.BeforeMessage, false, hooks.Continue},
		"closed":               {hooks.BeforeMessage, true, hooks.Abort},
		"closed, but too late": {hooks.AfterMessage, true, hooks.Continue},
	}
	for name, fault := range faults {
		for mode, tt := range modes {
			t.Run(name+" "+mode, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log bustest.LogBuffer
					r := hooks.New(zerolog.New(&log))
					if _, err := r.Add(tt.point, 0, "faulty", fault.handler, hooks.Options{FailClosed: tt.closed}); err != nil {
						t.Fatal(err)
					}
					out := r.Fire(t.Context(), hooks.Call{Hook: tt.point, Agent: "ana"})
					if out.Action != tt.want {
						t.Errorf("got action %q, want %q", out.Action, tt.want)
					}
					if out.Reason != "" || out.Failed() != (out.Action == hooks.Abort) {
						t.Errorf("reason %q, failed %v", out.Reason, out.Failed())
					}
					for _, want := range []string{fault.logged, `"handler":"faulty"`, `"agent":"ana"`} {
						if !strings.Contains(log.String(), want) {
							t.Errorf("log %s lacks %s", log.String(), want)
						}
					}
				})
			})
		}
	}
}

func TestHandlerThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := hooks.New(zerolog.Nop())
		stuck := func(context.Context, hooks.Call) (hooks.Outcome, error) {
			time.Sleep(time.Hour)
			return hooks.Outcome{Action: hooks.Abort, Reason: "too late"}, nil
		}
		if _, err := r.Add(hooks.BeforeMessage, 0, "stuck", stuck, hooks.Options{Timeout: time.Second}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		out := r.Fire(t.Context(), hooks.Call{Hook: hooks.BeforeMessage})
		if took := time.Since(start); took != time.Second || out.Action != hooks.Continue {
			t.Errorf("got %q after %s, want continue after 1s", out.Action, took)
		}
		time.Sleep(time.Hour) // the late answer comes, and changes nothing
	})
}

// A handler that is not the first is abandoned too, and those behind it are
// called.
func TestLaterHandlerIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := hooks.New(zerolog.Nop())
		var after []string
		stuck := func(ctx context.Context, _ hooks.Call) (hooks.Outcome, error) {
			<-ctx.Done()
			time.Sleep(time.Hour)
			return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": raw(`3`)}}, nil
		}
		slow := func(context.Context, hooks.Call) (hooks.Outcome, error) {
			time.Sleep(900 * time.Millisecond)
			return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": raw(`2`)}}, nil
		}
		sees := func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
			after = append(after, string(call.Args["message"]))
			return hooks.Outcome{}, nil
		}
		for _, h := range []hooks.Handler{slow, stuck, sees, slow, stuck, sees} {
			if _, err := r.Add(hooks.BeforeMessage, 0, "h", h, hooks.Options{Timeout: time.Second}); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		out := r.Fire(t.Context(), hooks.Call{Hook: hooks.BeforeMessage, Args: hooks.Args{"message": raw(`1`)}})
		took := time.Since(start)
		if diff := cmp.Diff([]string{"2", "2"}, after); diff != "" || out.Action != hooks.Override || string(out.Args["message"]) != "2" {
			t.Errorf("got %v, those behind the stuck one saw %v", out, after)
		}
		if least := 2 * 1900 * time.Millisecond; took < least || took > least+2*time.Second/16 {
			t.Errorf("took %s, want little more than %s", took, least)
		}
		time.Sleep(2 * time.Hour) // the late answers come, and change nothing
	})
}

func TestCallerGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := hooks.New(zerolog.Nop())
	add(t, r, hooks.BeforeMessage, 0, func(ctx context.Context, _ hooks.Call) (hooks.Outcome, error) {
		cancel()
		<-ctx.Done()
		return hooks.Outcome{}, ctx.Err()
	})
	if out := r.Fire(ctx, hooks.Call{Hook: hooks.BeforeMessage}); out.Action != hooks.Continue {
		t.Errorf("got %q, want continue", out.Action)
	}
}

func TestFireWithoutHandlersAllocatesNothing(t *testing.T) {
	r := hooks.New(zerolog.Nop())
	add(t, r, hooks.AfterMessage, 0, answering(hooks.Outcome{}))
	ctx := t.Context()
	call := hooks.Call{Hook: hooks.BeforeMessage, Agent: "ana", Session: "web/dm/bo", Run: "1"}
	allocs := testing.AllocsPerRun(100, func() {
		if r.Has(hooks.BeforeMessage) {
			panic("no handler was added")
		}
		r.Fire(ctx, call)
	})
	if allocs != 0 {
		t.Errorf("got %v allocations, want 0", allocs)
	}
}

// What a caller cannot use is a fault of the handler that said it, and of no
// other; what it does not take changed is left out.
func TestChangeable(t *testing.T) {
	given := hooks.Args{"name": raw(`"ls"`), "args": raw(`{"a": [1]}`)}
	object := func(v json.RawMessage) error { return json.Unmarshal(v, &map[string]any{}) }
	say := func(name, value string) hooks.Handler {
		return answering(hooks.Outcome{Action: hooks.Override, Args: hooks.Args{name: raw(value)}})
	}
	tests := map[string]struct {
		handlers []hooks.Handler
		closed   bool
		action   hooks.Action
		args     string
		logged   string // "": nothing
	}{
		"fine":             {[]hooks.Handler{say("args", `{}`)}, true, hooks.Override, `{}`, ""},
		"bad":              {[]hooks.Handler{say("args", `5`)}, false, hooks.Continue, `{"a": [1]}`, `override \"args\": json`},
		"bad, closed":      {[]hooks.Handler{say("args", `5`)}, true, hooks.Abort, "", `"closed":true`},
		"bad after fine":   {[]hooks.Handler{say("args", `{}`), say("args", `5`)}, false, hooks.Override, `{}`, `override \"args\": json`},
		"fine after bad":   {[]hooks.Handler{say("args", `5`), say("args", `{}`)}, false, hooks.Override, `{}`, `override \"args\": json`},
		"fixed":            {[]hooks.Handler{say("name", `"cat"`)}, true, hooks.Continue, `{"a": [1]}`, `"argument":"name"`},
		"fixed, repeated":  {[]hooks.Handler{say("name", ` "l\u0073"`)}, true, hooks.Continue, `{"a": [1]}`, ""},
		"no such argument": {[]hooks.Handler{say("arg", `{}`)}, true, hooks.Continue, `{"a": [1]}`, `"argument":"arg"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var log bustest.LogBuffer
			r := hooks.New(zerolog.New(&log))
			for _, h := range tt.handlers {
				if _, err := r.Add(hooks.BeforeToolCall, 0, "h", h, hooks.Options{FailClosed: tt.closed}); err != nil {
					t.Fatal(err)
				}
			}
			out := r.Fire(t.Context(), hooks.Call{Hook: hooks.BeforeToolCall, Args: given, Changeable: hooks.Changeable{"args": object}})
			if out.Action != tt.action || string(out.Args["args"]) != tt.args || out.Args != nil && string(out.Args["name"]) != `"ls"` {
				t.Errorf("got %+v", out)
			}
			if !strings.Contains(log.String(), tt.logged) || (tt.logged == "") != (log.String() == "") {
				t.Errorf("log %q, want it to hold %q", log.String(), tt.logged)
			}
		})
	}
}

func BenchmarkFire(b *testing.B) {
	for _, n := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("%d handlers", n), func(b *testing.B) {
			r := hooks.New(zerolog.Nop())
			for range n {
				add(b, r, hooks.BeforeMessage, 0, answering(hooks.Outcome{}))
			}
			ctx := b.Context()
			call := hooks.Call{Hook: hooks.BeforeMessage, Args: hooks.Args{"message": raw(`{}`)}}
			b.ReportAllocs()
			for b.Loop() {
				r.Fire(ctx, call)
			}
		})
	}
}

// withoutActs compares what handlers want together.
var withoutActs = cmpopts.IgnoreFields(hooks.Outcome{}, "Acts")

// Fire says which handlers did more than continue, in their order.
func TestFireSaysWhatHandlersDid(t *testing.T) {
	t.Parallel()
	r := hooks.New(zerolog.Nop())
	away := errors.New("away")
	for i, h := range []struct {
		label string
		out   hooks.Outcome
		err   error
		opts  hooks.Options
	}{
		{"continues", hooks.Outcome{Action: hooks.Continue}, nil, hooks.Options{}},
		{"overrides", hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"b": json.RawMessage(`1`), "a": json.RawMessage(`2`)}}, nil, hooks.Options{}},
		{"overrides what it may not", hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"c": json.RawMessage(`3`)}}, nil, hooks.Options{}},
		{"is away", hooks.Outcome{}, away, hooks.Options{}},
		{"aborts", hooks.Outcome{Action: hooks.Abort, Reason: "No."}, nil, hooks.Options{}},
		{"is not asked", hooks.Outcome{Action: hooks.Abort}, nil, hooks.Options{}},
	} {
		if _, err := r.Add(hooks.BeforeMessage, i, h.label, func(context.Context, hooks.Call) (hooks.Outcome, error) { return h.out, h.err }, h.opts); err != nil {
			t.Fatal(err)
		}
	}
	change := func(json.RawMessage) error { return nil }
	out := r.Fire(t.Context(), hooks.Call{Hook: hooks.BeforeMessage, Changeable: hooks.Changeable{"a": change, "b": change}})
	want := []hooks.Act{
		{Handler: "overrides", Action: hooks.Override, Args: []string{"a", "b"}},
		{Handler: "is away", Action: hooks.Continue, Err: away},
		{Handler: "aborts", Action: hooks.Abort, Reason: "No."},
	}
	if diff := cmp.Diff(want, out.Acts, cmpopts.IgnoreFields(hooks.Act{}, "At"), cmpopts.EquateErrors()); diff != "" {
		t.Errorf("acts (-want +got):\n%s", diff)
	}
	for _, act := range out.Acts {
		if act.At.IsZero() {
			t.Errorf("%s: no time", act.Handler)
		}
	}
}

// Of a handler that failed closed Fire says that it aborted, and why.
func TestFireSaysWhoFailedClosed(t *testing.T) {
	t.Parallel()
	r := hooks.New(zerolog.Nop())
	away := errors.New("away")
	fails := func(context.Context, hooks.Call) (hooks.Outcome, error) { return hooks.Outcome{}, away }
	if _, err := r.Add(hooks.BeforeMessage, 0, "guard", fails, hooks.Options{FailClosed: true}); err != nil {
		t.Fatal(err)
	}
	out := r.Fire(t.Context(), hooks.Call{Hook: hooks.BeforeMessage})
	want := []hooks.Act{{Handler: "guard", Action: hooks.Abort, Err: away}}
	if diff := cmp.Diff(want, out.Acts, cmpopts.IgnoreFields(hooks.Act{}, "At"), cmpopts.EquateErrors()); diff != "" {
		t.Errorf("acts (-want +got):\n%s", diff)
	}
}
