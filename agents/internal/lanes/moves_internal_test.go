package lanes

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/google/go-cmp/cmp"
)

func TestMovesAfter(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	const web, tel = "plugin.inbound.web", "plugin.inbound.tel"
	const every, one, other = "plugin.inbound.tg.*", "plugin.inbound.tg.a", "plugin.inbound.tgx.a"
	type bound = map[string][]string
	ana, bob := []string{"ana"}, []string{"bob"}
	moved := moves{web: {{From: ana, To: bob, At: at(10)}}}
	tests := map[string]struct {
		have          moves
		before, after bound
		want          moves
		none          bool
	}{
		"nothing":                        {nil, bound{web: ana}, bound{web: ana}, moves{}, true},
		"bound to nothing":               {nil, bound{}, bound{web: ana}, moves{web: {{To: ana}}}, false},
		"bound to nothing, at the start": {nil, nil, bound{web: ana}, moves{web: {{To: ana}}}, false},
		"a route, bound to nothing":      {nil, bound{}, bound{"agent.route.ana": ana}, moves{}, true},
		"bound beside every instance": {
			moves{every: {{To: ana}}},
			nil,
			bound{every: ana, one: bob},
			moves{every: {{To: ana}}, one: {{To: bob, At: at(20)}}},
			false,
		},
		"bound beside an instance": {
			moves{one: {{To: ana}}, other: {{To: ana}}},
			nil,
			bound{one: ana, every: bob, other: ana},
			moves{one: {{To: ana}}, other: {{To: ana}}, every: {{To: bob, At: at(20)}}},
			false,
		},
		"bound beside an instance, by a reload": {
			nil, bound{one: ana}, bound{one: ana, every: bob}, moves{every: {{To: bob, At: at(20)}}}, false,
		},
		"both at the start": {
			nil, nil, bound{one: ana, every: bob}, moves{one: {{To: ana}}, every: {{To: bob}}}, false,
		},
		"to another":            {nil, bound{web: ana}, bound{web: bob}, moves{web: {{From: ana, To: bob, At: at(20)}}}, false},
		"to no agent":           {nil, bound{web: ana}, bound{}, moves{web: {{From: ana, At: at(20)}}}, false},
		"a route, to no agent":  {nil, bound{"agent.route.ana": ana}, bound{}, moves{"agent.route.ana": {{From: ana, At: at(20)}}}, false},
		"another host was here": {moved, bound{web: ana}, bound{web: bob}, moved, true},
		"and has other plans": {
			moved,
			bound{web: ana},
			bound{web: {"eve"}},
			moves{web: {{From: ana, To: bob, At: at(10)}, {From: bob, To: []string{"eve"}, At: at(20)}}},
			false,
		},
		"of others":    {moved, bound{web: ana, tel: ana}, bound{web: ana, tel: ana}, moved, true},
		"at the start": {moved, nil, bound{web: bob}, moved, true},
		"to no agent, at the start": {
			moved, nil, bound{}, moves{web: {{From: ana, To: bob, At: at(10)}, {From: bob, At: at(20)}}}, false,
		},
		"another configuration at the start": {
			moved, nil, bound{web: ana}, moves{web: {{From: ana, To: bob, At: at(10)}, {From: bob, To: ana, At: at(20)}}}, false,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, none := tt.have.after(tt.before, tt.after, at(20), at(0))
			if diff := cmp.Diff(tt.want, got); diff != "" || none != tt.none {
				t.Errorf("none: %t, %s", none, diff)
			}
		})
	}
}

// Moves are forgotten when nothing is stored that is older, and who is bound now is not.
func TestMovesAreForgotten(t *testing.T) {
	const web, tel, off = "plugin.inbound.web", "plugin.inbound.tel", "plugin.inbound.off"
	ana, bob := []string{"ana"}, []string{"bob"}
	moved := time.Unix(10, 0).UTC()
	now := moved.Add(movesFor + time.Second)
	have := moves{
		web: {{From: ana, To: bob, At: moved}}, off: {{From: ana, At: moved}}, bus.RoutePrefix + "ana": {{From: ana, At: moved}},
	}
	to := map[string][]string{tel: bob}
	got, _ := have.after(map[string][]string{tel: ana}, to, now, now)
	want := moves{web: {{To: bob}}, tel: {{From: ana, To: bob, At: now}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with nothing older: %s", diff)
	}
	got, _ = have.after(map[string][]string{tel: ana}, to, now, moved)
	want = maps.Clone(have)
	want[tel] = history{{From: ana, To: bob, At: now}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with older messages: %s", diff)
	}
}

// A move that a clock which was ahead has put off counts as soon as any: hosts would not be ready
// until then, and agents that are new would get nothing.
func TestMovesOfAClockThatWasAhead(t *testing.T) {
	const web, tel = "plugin.inbound.web", "plugin.inbound.tel"
	ana, bob := []string{"ana"}, []string{"bob"}
	at := time.Unix(1000, 0).UTC()
	soon := at.Add(time.Second) // another server of a cluster has a clock of its own
	have := moves{
		web: {{From: ana, To: bob, At: at.Add(-time.Second)}, {From: bob, To: ana, At: at.Add(time.Hour)}},
		tel: {{From: ana, To: bob, At: soon}},
	}
	bound := map[string][]string{web: ana, tel: bob}
	got, none := have.after(nil, bound, at, at.Add(-time.Hour))
	want := moves{
		web: {{From: ana, To: bob, At: at.Add(-time.Second)}, {From: bob, To: ana, At: at}},
		tel: {{From: ana, To: bob, At: soon}},
	}
	if diff := cmp.Diff(want, got); diff != "" || none {
		t.Errorf("none: %t, %s", none, diff)
	}
	if _, none := got.after(nil, bound, at, at.Add(-time.Hour)); !none {
		t.Error("they are written again")
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

		"plugin.inbound.off":   {{From: []string{"ana"}, At: when}},
		"plugin.inbound.back":  {{From: []string{"ana"}, At: when.Add(-time.Hour)}, {To: []string{"bob"}, At: when.Add(time.Hour)}},
		"plugin.inbound.irc.a": {{To: []string{"ana"}}},
		"plugin.inbound.irc.*": {{To: []string{"bob"}, At: when}},
		"plugin.inbound.mx.a":  {{To: []string{"ana"}}},
		"plugin.inbound.mx.*":  {{To: []string{"new"}}},
		"plugin.inbound.ml.a":  {{To: []string{"new"}}},
		"plugin.inbound.ml.*":  {{To: []string{"bob"}}},
	})
	at := func(id, lane string) (ids []string) { // who is on the lane of another
		if Of(id, count) == Of(lane, count) {
			ids = append(ids, id)
		}
		return ids
	}
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
		"bound to nothing":       {"ana", "plugin.inbound.off", true, nil, false},
		"until it was":           {"ana", "plugin.inbound.off", false, []string{"ana"}, true},
		"bound later":            {"bob", "plugin.inbound.back", true, []string{"bob"}, true},
		"bound later, elsewhere": {"ana", "plugin.inbound.back", true, nil, true},
		"beside an instance":     {"bob", "plugin.inbound.irc.a", true, []string{"bob"}, true},
		"before it was":          {"bob", "plugin.inbound.irc.a", false, nil, true},
		"another instance":       {"bob", "plugin.inbound.irc.b", false, []string{"bob"}, true},
		"every instance unknown": {"new", "plugin.inbound.mx.a", true, at("ana", "new"), false},
		"an instance unknown":    {"new", "plugin.inbound.ml.a", true, at("bob", "new"), false},
		"gone":                   {"gone", "agent.route.gone", true, nil, true},
		"never moved":            {"ana", "agent.route.ana", true, []string{"ana"}, true},
		"due":                    {"ana", "agent.due.ana", true, []string{"ana"}, true},
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

// Without moves, messages are for the agents that are bound by now.
func TestRoutingTakersWithoutMoves(t *testing.T) {
	ana, bob := &agent{id: "ana", bindings: []string{"plugin.inbound.web"}}, &agent{id: "bob", bindings: []string{"plugin.inbound.tg.*"}}
	v := newRouting([]Agent{ana, bob}, 4, nil)
	for subject, want := range map[string]string{"plugin.inbound.web": "ana", "plugin.inbound.tg.a": "bob", "agent.route.bob": "bob"} {
		list, complete := v.takers(Of(want, 4), subject, time.Unix(100, 0))
		if len(list) != 1 || list[0].ID() != want || !complete {
			t.Errorf("%s: got %v, complete %t, want %s", subject, list, complete, want)
		}
	}
	both := []Agent{&agent{id: "zoe", bindings: []string{"plugin.inbound.web"}}, ana}
	if diff := cmp.Diff([]string{"ana", "zoe"}, newRouting(both, 4, nil).bindings()["plugin.inbound.web"]); diff != "" {
		t.Errorf("hosts that name agents in another order: %s", diff)
	}
}

// Who takes a message follows from when it was stored.
func TestHistory(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	ana, bob, eve := []string{"ana"}, []string{"bob"}, []string{"eve"}
	h := history{{From: ana, To: bob, At: at(10)}, {From: bob, At: at(20)}, {To: eve, At: at(30)}, {From: eve, To: ana, At: at(40)}}
	for stored, want := range map[int]struct {
		at, next         []string
		last, lastOfNext bool
	}{
		9: {ana, bob, false, false}, 10: {bob, eve, false, false}, 20: {nil, eve, false, false}, 30: {eve, ana, false, true}, 40: {ana, nil, true, true},
	} {
		ids, last := h.at(at(stored))
		next, lastOfNext := h.next(at(stored))
		if !slices.Equal(ids, want.at) || last != want.last || !slices.Equal(next, want.next) || lastOfNext != want.lastOfNext {
			t.Errorf("stored at %d: got %v, last %t; then %v, last %t; want %+v", stored, ids, last, next, lastOfNext, want)
		}
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
func (*agent) Former(int) bool        { return false }
func (*agent) Divided(uint64, []byte) {}
