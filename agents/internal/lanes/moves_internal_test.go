package lanes

import (
	"context"
	"testing"
	"time"

	"agenthost/bus/delivery"

	"github.com/google/go-cmp/cmp"
)

func TestMovesAfter(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	type bound = map[string][]string
	ana, bob := []string{"ana"}, []string{"bob"}
	moved := moves{"web": {{From: ana, To: bob, At: at(10)}}}
	tests := map[string]struct {
		have          moves
		before, after bound
		want          moves
		none          bool
	}{
		"nothing":               {nil, bound{"web": ana}, bound{"web": ana}, moves{}, true},
		"nobody had it":         {nil, bound{}, bound{"web": ana}, moves{}, true},
		"to another":            {nil, bound{"web": ana}, bound{"web": bob}, moves{"web": {{From: ana, To: bob, At: at(20)}}}, false},
		"to nobody":             {nil, bound{"web": ana}, bound{}, moves{"web": {{From: ana, At: at(20)}}}, false},
		"another host was here": {moved, bound{"web": ana}, bound{"web": bob}, moved, true},
		"and has other plans": {
			moved,
			bound{"web": ana},
			bound{"web": {"eve"}},
			moves{"web": {{From: ana, To: bob, At: at(10)}, {From: bob, To: []string{"eve"}, At: at(20)}}},
			false,
		},
		"of others":    {moved, bound{"web": ana, "tel": ana}, bound{"web": ana, "tel": ana}, moved, true},
		"at the start": {moved, nil, bound{"web": bob, "tel": ana}, moved, true},
		"another configuration at the start": {
			moved, nil, bound{"web": ana}, moves{"web": {{From: ana, To: bob, At: at(10)}, {From: bob, To: ana, At: at(20)}}}, false,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, none := tt.have.after(tt.before, tt.after, at(20))
			if diff := cmp.Diff(tt.want, got); diff != "" || none != tt.none {
				t.Errorf("none: %t, %s", none, diff)
			}
		})
	}
	later, _ := moved.after(bound{"tel": ana}, bound{"tel": bob}, at(10).Add(movesFor+time.Second))
	if _, ok := later["web"]; ok || len(later) != 1 {
		t.Errorf("an old move is still there: %v", later)
	}
}

// What was stored before a move is for the agents of before, on the lane of
// each; what comes later for those of after.
func TestRoutingTakers(t *testing.T) {
	const count = 4
	web, every := "plugin.inbound.web", "plugin.inbound.tg.*"
	ana, bob := &agent{id: "ana", bindings: []string{web}}, &agent{id: "bob", bindings: []string{web, every}}
	when := time.Unix(100, 0)
	v := newRouting([]Agent{ana, bob}, count, moves{
		"plugin.inbound.web":  {{From: []string{"ana"}, To: []string{"bob", "new"}, At: when}},
		"plugin.inbound.tg.*": {{From: []string{"gone"}, To: []string{"bob"}, At: when}},
		"agent.route.gone":    {{From: []string{"gone"}, At: when}},
	})
	tests := map[string]struct {
		agent, subject string // of the lane of agent
		after          bool
		want           []string
		complete       bool
	}{
		"before":                 {"ana", "plugin.inbound.web", false, []string{"ana"}, true},
		"before, other lane":     {"bob", "plugin.inbound.web", false, nil, true},
		"after":                  {"bob", "plugin.inbound.web", true, []string{"bob"}, Of("new", count) != Of("bob", count)},
		"after, other lane":      {"ana", "plugin.inbound.web", true, nil, Of("new", count) != Of("ana", count)},
		"unknown here":           {"new", "plugin.inbound.web", true, nil, false},
		"who had it is gone":     {"gone", "plugin.inbound.tg.a", false, []string{"bob"}, true},
		"every instance":         {"bob", "plugin.inbound.tg.a", true, []string{"bob"}, true},
		"no instance":            {"bob", "plugin.inbound.tg", true, nil, false},
		"gone":                   {"gone", "agent.route.gone", true, nil, true},
		"never moved":            {"ana", "agent.route.ana", true, []string{"ana"}, true},
		"never moved, elsewhere": {"gone", "agent.route.ana", true, nil, true},
		"never heard of":         {"ana", "agent.route.new", true, nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			stored := when.Add(-time.Second)
			if tt.after {
				stored = when
			}
			list, complete := v.takers(Of(tt.agent, count), tt.subject, stored)
			var got []string
			for _, r := range list {
				got = append(got, r.ID())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || complete != tt.complete {
				t.Errorf("complete: %t, %s", complete, diff)
			}
		})
	}
}

// An agent that does nothing.
type agent struct {
	id       string
	bindings []string
	doors    []string
	shadowOf string
}

func (a *agent) ID() string                               { return a.id }
func (a *agent) Bindings() []string                       { return a.bindings }
func (a *agent) Doors() []string                          { return a.doors }
func (a *agent) ShadowOf() string                         { return a.shadowOf }
func (*agent) Offer(*delivery.Delivery)                   {}
func (*agent) Run(context.Context, context.Context) error { return nil }
func (*agent) Retire()                                    {}
func (*agent) Yield()                                     {}
func (*agent) Resume(bool)                                {}
func (*agent) Agree()                                     {}
func (*agent) Unfinished() []string                       { return nil }
func (*agent) Welcomes(*delivery.Delivery) bool           { return true }
func (*agent) Asks() bool                                 { return false }

func (*agent) Partitions() []Agent    { return nil }
func (*agent) Divided(uint64, []byte) {}
