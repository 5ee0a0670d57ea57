package finishing_test

import (
	"testing"
	"testing/synctest"
	"time"

	"agenthost/agents/internal/finishing"
)

func TestIndex(t *testing.T) {
	t.Parallel()
	at := func(sessions ...string) finishing.Handover {
		return finishing.Handover{Host: "a", Run: "1", Until: time.Now().Add(time.Minute), Sessions: map[string][]string{"ana": sessions}}
	}
	tests := map[string]struct {
		then func(*finishing.Index)
		free bool
	}{
		"still at work":          {func(x *finishing.Index) { x.Set(3, 2, at("two", "one")) }, false},
		"ended":                  {func(x *finishing.Index) { x.Set(3, 2, at("two")) }, true},
		"all ended":              {func(x *finishing.Index) { x.Set(3, 2, finishing.Handover{}) }, true},
		"what is known is newer": {func(x *finishing.Index) { x.Set(3, 1, finishing.Handover{}) }, false},
		"the host is gone":       {func(x *finishing.Index) { x.Alive(map[string]string{"b": "1"}) }, true},
		"it is another run":      {func(x *finishing.Index) { x.Alive(map[string]string{"a": "2"}) }, true},
		"another is gone":        {func(x *finishing.Index) { x.Alive(map[string]string{"a": "1"}) }, false},
		"it is gone, then read": {func(x *finishing.Index) {
			x.Alive(map[string]string{})
			x.Set(3, 3, at("one"))
		}, true},
		"its clock is ahead": {func(x *finishing.Index) {
			h := at("one")
			h.Until = time.Now().Add(time.Hour)
			x.Set(3, 2, h)
			time.Sleep(finishing.Within)
		}, true},
		"another lane":        {func(x *finishing.Index) { x.Set(2, 2, finishing.Handover{}) }, false},
		"the time is over":    {func(*finishing.Index) { time.Sleep(2 * time.Minute) }, true},
		"the time goes on":    {func(*finishing.Index) { time.Sleep(59 * time.Second) }, false},
		"handed over late":    {func(x *finishing.Index) { h := at("one"); h.Until = time.Now(); x.Set(3, 2, h) }, true},
		"the same, once more": {func(x *finishing.Index) { x.Set(3, 2, at("one")) }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x, called := finishing.NewIndex(), 0
				if x.Holds("ana", "one", t, func() { called++ }) {
					t.Fatal("holds before there is anything")
				}
				x.Set(3, 2, at("one", "two"))
				if !x.Holds("ana", "one", t, func() { called++ }) || x.Holds("ana", "three", t, nil) || x.Holds("bo", "one", t, nil) {
					t.Fatal("want ana's session one to be held, and no other")
				}
				tt.then(x)
				synctest.Wait()
				if free := called == 1; free != tt.free || x.Holds("ana", "one", t, func() {}) == tt.free {
					t.Errorf("called %d times, want it free: %t", called, tt.free)
				}
				time.Sleep(time.Hour) // timers end
			})
		})
	}
}
