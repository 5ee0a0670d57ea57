package delivery_test

import (
	"fmt"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
)

// Sessions hand on to a partition side by side: what one of them has handed on lies behind newer
// messages of others. The lane has passed what came to a host before once it has handed out all of
// that.
func TestLaneOfAPartitionTellsHowFarItIs(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		cfg := delivery.LaneConfig{Stream: bus.RoutesStream, Name: "part-ana-0", Filters: []string{bus.PartSubject("ana", 0)}, HandedOn: true}
		serve := func(name string) *host {
			d := &door{server: ns}
			_, js := connectThrough(t, d)
			cfg.Host = name
			return serveConfig(t, js, d, cfg)
		}
		handOn := func(seq int) {
			msg := nats.NewMsg(bus.PartSubject("ana", 0))
			msg.Data = fmt.Append(nil, seq)
			msg.Header.Set(bus.HandedOnHeader, fmt.Sprintf(`{"stream":%q,"subject":%q,"seq":%d}`, bus.InboundStream, web, seq))
			if _, err := js.PublishMsg(t.Context(), msg); err != nil {
				t.Fatal(err)
			}
		}
		one := serve("one")
		for _, seq := range []int{7, 3, 5} {
			handOn(seq)
		}
		one.want("7", "3", "5")
		two := serve("two")
		handed := make(chan int, 1)
		if two.Passed(5, func() { handed <- len(two.got) }) {
			t.Error("the lane has passed what another host holds")
		}
		one.die()
		if n := waittest.For(t, "the lane to have passed what the other host had", handed); n < 3 {
			t.Errorf("with %d handed out it has passed all three", n)
		}
		each(two.want("7?", "3?", "5?"), (*delivery.Delivery).Done)
		handOn(9)
		two.want("9")[0].Done()
		if !two.Passed(9, nil) {
			t.Error("it has not passed what it has handed out")
		}
	})
}
