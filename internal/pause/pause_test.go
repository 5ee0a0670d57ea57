package pause_test

import (
	"context"
	"errors"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/pause"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestStore(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	s := pause.NewStore(b.JS)
	ctx := t.Context()
	if list, err := s.List(ctx); err != nil || list == nil || len(list) != 0 {
		t.Errorf("at first: got %v, %v", list, err)
	}
	all := []pause.Pause{
		{Target: pause.Target{Agent: "ana"}, By: "bo", Reason: "why"},
		{Target: pause.Target{Channel: "telegram.sales"}},
		{Target: pause.Target{All: true}},
	}
	for _, p := range all {
		if _, err := s.Begin(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	first, err := s.Begin(ctx, pause.Pause{Target: pause.Target{Agent: "ana"}, By: "cy"})
	if err != nil {
		t.Fatal(err)
	}
	all[0] = pause.Pause{Target: first.Target, By: "cy"}
	list, err := s.List(ctx)
	if diff := cmp.Diff(all, list, cmpopts.IgnoreFields(pause.Pause{}, "Since")); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	kv, err := b.JS.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(ctx, "pause.all", []byte(`{"by":"an older one"}`)); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(ctx); err != nil || !list[0].All {
		t.Errorf("the pause of all of an older version: got %+v, %v", list, err)
	}
	if err := s.End(ctx, pause.Target{}); !errors.Is(err, pause.ErrNoTarget) {
		t.Errorf("nothing named: got %v", err)
	}
	if err := s.End(ctx, pause.Target{Agent: "ana"}); err != nil {
		t.Error(err)
	}
	if err := s.End(ctx, pause.Target{Agent: "ana"}); !errors.Is(err, pause.ErrNotPaused) {
		t.Errorf("twice: got %v", err)
	}
	for _, wrong := range []pause.Target{{}, {Agent: "a", All: true}, {Agent: "a", Channel: "b"}, {Agent: "a.b"}, {Agent: "A"}, {Channel: "a.b.c"}, {Channel: ">"}, {Channel: "a."}} {
		if _, err := s.Begin(ctx, pause.Pause{Target: wrong}); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

// A bucket that an operator has kept from answering direct gets is read all the same.
func TestListWithoutDirectGets(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	s := pause.NewStore(b.JS)
	if _, err := s.Begin(t.Context(), pause.Pause{Target: pause.Target{Agent: "ana"}}); err != nil {
		t.Fatal(err)
	}
	stream, err := b.JS.Stream(t.Context(), "KV_"+bus.LanesBucket)
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.AllowDirect = false
	if _, err := b.JS.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 1 || list[0].Agent != "ana" {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	s := pause.NewStore(b.JS)
	if _, err := s.Begin(t.Context(), pause.Pause{Target: pause.Target{Channel: "telegram"}}); err != nil {
		t.Fatal(err)
	}
	x := pause.NewIndex(b.JS, bustest.Log(t))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); x.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	<-x.Whole()
	for _, tt := range []struct {
		agent, channel string
		want           bool
	}{{"ana", "telegram", true}, {"ana", "telegram.sales", true}, {"ana", "telegrams", false}, {"telegram", "", false}, {"ana", "", false}} {
		if got := x.Holds(tt.agent, tt.channel, nil, nil); got != tt.want {
			t.Errorf("%s by %q: got %t", tt.agent, tt.channel, got)
		}
	}
	changed := make(chan struct{}, 2)
	for range 2 { // once for each who
		x.Holds("ana", "telegram", "who", func() { changed <- struct{}{} })
	}
	if err := s.End(t.Context(), pause.Target{Channel: "telegram"}); err != nil {
		t.Fatal(err)
	}
	<-changed
	if len(changed) > 0 || x.Holds("ana", "telegram", nil, nil) || len(x.All()) > 0 {
		t.Error("it holds on")
	}
}
