package delivery

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// Behind a reset the lane takes nothing before the first message, which may be lost on its way
// and come again: what is newer would be ahead of it.
func TestLaneBeginsWithTheFirstMessageAfterAReset(t *testing.T) {
	t.Parallel()
	pin := "mine"
	var got []uint64
	l := NewLane(nil, LaneConfig{Name: LaneName(0)}, zerolog.Nop(), nil, func(d *Delivery) { got = append(got, d.Seq) })
	l.pin, l.resetting, l.resetAt = pin, true, time.Now()
	l.pinned.Store(&pin)
	asking := newPulls(nil, "")
	receive := func(count, seq int) {
		msg := &nats.Msg{
			Subject: "plugin.inbound.web", Header: nats.Header{"Nats-Pin-Id": {pin}}, Sub: &nats.Subscription{},
			Reply: fmt.Sprintf("$JS.ACK.AGENT_INBOUND.lane-00.1.%d.%d.%d.0", seq, count, time.Now().UnixNano()),
		}
		l.receive(t.Context(), nil, asking, message{Msg: msg})
	}
	receive(2, 12) // before the first
	receive(1, 11)
	receive(2, 12)
	if want := []uint64{11, 12}; !slices.Equal(got, want) {
		t.Errorf("got the messages %d, want %d", got, want)
	}
}
