package hooks_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"agenthost/bus/bustest"
	"agenthost/hooks"
)

// A remote hook with agents or channels is asked for these alone; a channel
// stands for all of its instances.
func TestRemoteIsNarrowed(t *testing.T) {
	const ana, bob = "ana", "bob"
	tests := map[string]struct {
		agents, channels []string
		want             []string
	}{
		"for all":               {nil, nil, []string{"ana web/dm/7", "ana telegram.sales/dm/7", "bob telegram.sales/group/1/2", "bob telegram/dm/7", "ana route/bob/1"}},
		"an agent":              {[]string{bob}, nil, []string{"bob telegram.sales/group/1/2", "bob telegram/dm/7"}},
		"an instance":           {nil, []string{"telegram.sales"}, []string{"ana telegram.sales/dm/7", "bob telegram.sales/group/1/2"}},
		"a channel":             {nil, []string{"telegram"}, []string{"ana telegram.sales/dm/7", "bob telegram.sales/group/1/2", "bob telegram/dm/7"}},
		"an agent on a channel": {[]string{ana}, []string{"telegram", "web"}, []string{"ana web/dm/7", "ana telegram.sales/dm/7"}},
		"the start of a name":   {[]string{"an"}, []string{"tele"}, nil},
	}
	calls := []hooks.Call{
		{Agent: ana, Session: "web/dm/7"},
		{Agent: ana, Session: "telegram.sales/dm/7"},
		{Agent: bob, Session: "telegram.sales/group/1/2"},
		{Agent: bob, Session: "telegram/dm/7"},
		{Agent: ana, Session: "route/bob/1"},
	}
	nc := bustest.Open(t).NC
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			sub, err := nc.Subscribe("acme.guard", func(m *nats.Msg) { _ = m.Respond([]byte(`{"action":"abort","reason":"no"}`)) })
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = sub.Unsubscribe() }()
			r := hooks.New(zerolog.Nop())
			c := hooks.Config{On: hooks.BeforeMessage, Subject: "acme.guard", Agents: tt.agents, Channels: tt.channels}
			if _, err := r.AddRemote(nc, nil, []hooks.Config{c}); err != nil {
				t.Fatal(err)
			}
			for _, call := range calls {
				call.Hook = hooks.BeforeMessage
				asked := r.Fire(t.Context(), call).Action == hooks.Abort
				if asked {
					got = append(got, call.Agent+" "+call.Session)
				}
				if has := r.HasFor(call.Hook, call.Agent, call.Session); has != asked {
					t.Errorf("%s %s: HasFor is %t, want %t", call.Agent, call.Session, has, asked)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
		})
	}
}

// Handlers that are not for a call are left out, and the others keep their order.
func TestOnlyLeavesOut(t *testing.T) {
	r := hooks.New(zerolog.Nop())
	var got []string
	for i, name := range []string{"one", "two", "three"} {
		opts := hooks.Options{}
		if name == "two" {
			opts.Only = func(agent, _ string) bool { return agent == "ana" }
		}
		handler := func(context.Context, hooks.Call) (hooks.Outcome, error) {
			got = append(got, name)
			return hooks.Outcome{}, nil
		}
		if _, err := r.Add("point", i, name, handler, opts); err != nil {
			t.Fatal(err)
		}
	}
	r.Fire(t.Context(), hooks.Call{Hook: "point", Agent: "bob"})
	r.Fire(t.Context(), hooks.Call{Hook: "point", Agent: "ana"})
	if diff := cmp.Diff([]string{"one", "three", "one", "two", "three"}, got); diff != "" {
		t.Errorf("handlers called (-want +got):\n%s", diff)
	}
}
