package partitions

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/finishing"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/session"
)

// A whole is an agent that notes what is brought to it.
type whole struct {
	mu     sync.Mutex
	pushed []string
	busy   map[session.Key]bool
	yields bool
	reread int

	unfinished []string
}

func (w *whole) Push(it *message.Item, _ session.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pushed = append(w.pushed, it.Input.ID)
}

func (w *whole) Busy(key session.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy[key]
}
func (w *whole) Unfinished() []string { return slices.Clone(w.unfinished) }
func (w *whole) Yields() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.yields
}
func (w *whole) Reread() { w.reread++ }

// set changes what it says of itself.
func (w *whole) set(yields bool, busy ...session.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.yields, w.busy = yields, map[session.Key]bool{}
	for _, key := range busy {
		w.busy[key] = true
	}
}

func (w *whole) got() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.pushed)
}

// divisionOf is that of an agent that is to have so many partitions. It has read the record,
// and does not settle by itself.
func divisionOf(t *testing.T, w *whole, wanted int, l Layout) (*Division, *sync.WaitGroup) {
	t.Helper()
	agent := &inflight.Agent{ID: "ana", Parts: &parts.Parts{Finishing: finishing.NewIndex()}, Work: t.Context()}
	agent.Profile.Store(&profile.Profile{Config: agents.Config{Partitions: wanted}})
	busy := &sync.WaitGroup{}
	d := New(agent, busy, w)
	d.layout, d.known, d.settling = l, true, true
	return d, busy
}

// keyOf is a session whose partition is number of n, and former of before.
func keyOf(t *testing.T, n, number, before, former int) session.Key {
	t.Helper()
	for i := range 10_000 {
		if key := session.Key(fmt.Sprint("web/dm/", i)); Of(key, n) == number && Of(key, before) == former {
			return key
		}
	}
	t.Fatalf("no session is in partition %d of %d and in %d of %d", number, n, former, before)
	return ""
}

// A session moves once its former partition is done, and waits until then.
func TestPlace(t *testing.T) {
	t.Parallel()
	moves, stays := keyOf(t, 3, 2, 2, 0), keyOf(t, 3, 1, 2, 1)
	changing := Layout{Generation: 2, Partitions: 3, Former: 2}
	tests := map[string]struct {
		layout  Layout
		wanted  int
		targets map[int]uint64
		unread  bool
		busy    bool
		other   bool // another host is still at work on the session
		key     session.Key
		number  int
		wait    bool
	}{
		"undivided":                     {layout: undivided, key: moves, number: -1},
		"settled":                       {layout: Layout{Generation: 2, Partitions: 3, Former: 2, Settled: true}, wanted: 3, key: moves, number: 2},
		"the record was not read":       {layout: undivided, key: moves, unread: true, wait: true},
		"the record is to be changed":   {layout: undivided, wanted: 3, key: moves, wait: true},
		"former partitions unknown":     {layout: changing, wanted: 3, key: moves, wait: true},
		"the former one is not done":    {layout: changing, wanted: 3, targets: map[int]uint64{0: 7}, key: moves, number: 2, wait: true},
		"another former one is not":     {layout: changing, wanted: 3, targets: map[int]uint64{1: 7}, key: moves, number: 2},
		"it stays where it is":          {layout: changing, wanted: 3, key: stays, number: 1},
		"the agent has not done it":     {layout: Layout{Generation: 1, Partitions: 3}, wanted: 3, busy: true, key: moves, number: 2, wait: true},
		"another host has not done it":  {layout: Layout{Generation: 1, Partitions: 3}, wanted: 3, other: true, key: moves, number: 2, wait: true},
		"the agent has done it":         {layout: Layout{Generation: 1, Partitions: 3}, wanted: 3, key: moves, number: 2},
		"back to the agent, to be done": {layout: Layout{Generation: 2, Former: 3}, targets: map[int]uint64{2: 7}, key: moves, number: -1, wait: true},
		"back to the agent":             {layout: Layout{Generation: 2, Former: 3}, targets: map[int]uint64{}, key: moves, number: -1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := divisionOf(t, &whole{busy: map[session.Key]bool{tt.key: tt.busy}}, tt.wanted, tt.layout)
			d.known, d.targets = !tt.unread, tt.targets
			if tt.other {
				sessions := map[string][]string{"ana": {string(tt.key)}}
				d.agent.Parts.Finishing.Set(0, 1, finishing.Handover{Host: "two", Until: time.Now().Add(time.Minute), Sessions: sessions})
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			number, generation, wait := d.placeNow(tt.key)
			if wait != tt.wait || !wait && (number != tt.number || generation != tt.layout.Generation) {
				t.Errorf("got partition %d of generation %d, wait %t; want %d of %d, wait %t", number, generation, wait, tt.number, tt.layout.Generation, tt.wait)
			}
		})
	}
}

// A record counts if it is newer; logs are read again where sessions have moved.
func TestLearn(t *testing.T) {
	t.Parallel()
	w := &whole{}
	d, _ := divisionOf(t, w, 0, undivided)
	two := Layout{Generation: 1, Partitions: 2}
	d.Learn(5, two)
	d.Learn(4, Layout{Generation: 7, Partitions: 4})
	if d.layout != two || w.reread != 1 {
		t.Errorf("got %+v and logs read %d times, want %+v and once", d.layout, w.reread, two)
	}
	two.Settled = true
	d.targets = map[int]uint64{}
	d.Learn(6, two)
	if d.layout != two || w.reread != 1 || d.targets == nil {
		t.Errorf("got %+v and logs read %d times, want %+v and once", d.layout, w.reread, two)
	}
	if d.Forget(); d.known || d.targets != nil {
		t.Error("it goes by what it knew before another host has served the agent")
	}
	d.targets = map[int]uint64{}
	d.Learn(7, two.next(2, 3))
	if w.reread != 2 || d.targets != nil {
		t.Errorf("logs are read %d times, want twice; %v is known of the partitions that are former now, want nothing", w.reread, d.targets)
	}
}

// An agent that works on sessions itself, on whichever host, is not done.
func TestAgentIsDone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		own, other []string
		want       bool
	}{
		"nothing to do":       {want: true},
		"a session":           {own: []string{"web/dm/ana"}},
		"the heartbeat alone": {own: []string{string(message.HeartbeatKey)}, want: true},
		"another host":        {other: []string{"web/dm/ana"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := divisionOf(t, &whole{unfinished: tt.own}, 2, undivided)
			d.agent.Parts.Finishing.Set(0, 1, finishing.Handover{Host: "two", Until: time.Now().Add(time.Minute), Sessions: map[string][]string{"ana": tt.other}})
			if done, err := d.formerDone(t.Context(), Layout{Generation: 1, Partitions: 2}); done != tt.want || err != nil {
				t.Errorf("got %t, %v, want %t", done, err, tt.want)
			}
		})
	}
}
