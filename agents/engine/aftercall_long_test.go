//go:build long

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/tools"
)

// What other agents and people say is seen by the hooks after a call as the results of tools are:
// once, when it is known, and what they leave of it is what the log and the model get.
func TestHooksAfterCallsThatWait(t *testing.T) {
	t.Parallel()
	question := asking(tools.Wait{Question: true, Prompt: "Which?"})
	paid := tools.Tool{Name: "pay", Schema: anything, Run: text("paid")}
	const failed = ` false: `
	tests := map[string]struct {
		say, answer string
		permissions map[string]string
		timeout     time.Duration
		delegates   []string
		want        string // what the hook after is told, of which args
		ok          bool
	}{
		"a question":           {say: "ask", answer: secret, want: `{} true: "` + secret + `"`, ok: true},
		"a denied approval":    {say: "pay", answer: "deny", want: `{"sum":5}` + failed + `"denied"`},
		"an approval":          {say: "pay", answer: "approve", want: `{"sum":5} true: "paid"`, ok: true},
		"an expired approval":  {say: "pay", timeout: time.Second, want: `{"sum":5}` + failed + `"not approved: no answer came before the deadline, so it was not run"`},
		"an expired question":  {say: "ask", timeout: time.Second, want: `{}` + failed + `"no answer came before the deadline"`},
		"a denied tool":        {say: "pay", permissions: map[string]string{"pay": "deny"}, want: `{"sum":5}` + failed + `"not allowed: permission \"pay\" denies pay"`},
		"a task":               {say: "hand over", delegates: []string{"ops"}, want: `{} true: "` + secret + `"`, ok: true},
		"a task that may not":  {say: "hand over", want: `{}` + failed + `"ops is not among the agents that ana may ask"`},
		"a task that is wrong": {say: "hand over", delegates: []string{"bad"}, want: `{}` + failed + `"I couldn't make sense of that message."`},
	}
	for name, tt := range tests {
		for _, restarts := range []bool{false, true} {
			if restarts && tt.answer == "" {
				continue
			}
			t.Run(fmt.Sprintf("%s, restarts %t", name, restarts), func(t *testing.T) {
				t.Parallel()
				to := "ops"
				if len(tt.delegates) > 0 {
					to = tt.delegates[0]
				}
				ana := bot("ana", script(paying), has(question, paid, handing(to)), asks(tt.delegates...), func(a *actor) { a.permissions = tt.permissions })
				if tt.timeout > 0 {
					ana.cfg.Limits.ApprovalTimeout = tt.timeout
				}
				actors := []actor{ana, bot("ops", script(`rules: [{text: "`+secret+`"}]`)), bot("bad", script(`rules: [{error: {code: validation}}]`))}
				w := newWorld(t, actors...)
				var s sightings
				change := func(_ context.Context, _ hooks.Call) (hooks.Outcome, error) {
					ok, _ := json.Marshal(!tt.ok)
					return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"result": json.RawMessage(`"` + redacted + `"`), "ok": ok}}, nil
				}
				s.watchCalls(w, hooks.Options{}, change)
				w.say("ana", bus.Inbound{Text: tt.say})
				if tt.answer != "" {
					w.hear()
					w.settled()
					if restarts {
						w.stop()
						w.start(actors...)
						s.watchCalls(w, hooks.Options{}, change)
					}
					w.say("ana", bus.Inbound{Text: tt.answer})
				}
				w.eventually("it has answered", func() bool { return w.hear().Text == "It says: "+redacted })
				w.settled()
				if got, want := s.seen(), []string{"before", "after " + tt.want}; !slices.Equal(got, want) {
					t.Errorf("the hooks saw %q, want %q", got, want)
				}
				events := w.log("ana", "ana/dm/ana")
				for _, e := range events {
					if data, _ := json.Marshal(e); strings.Contains(string(data), secret) {
						t.Errorf("the log has the original: %s", data)
					}
					if e.Type == run.ToolFinished && (e.Result != redacted || e.OK == tt.ok || len(e.Hooks) != 1) {
						t.Errorf("the log has %+v", e)
					}
				}
				if _, err := run.Replay(events); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
