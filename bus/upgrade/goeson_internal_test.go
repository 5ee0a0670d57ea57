package upgrade

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

func TestGoesOn(t *testing.T) {
	t.Parallel()
	created := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		cfg  jetstream.ConsumerConfig
		done uint64 // the last message that it is done with
		want jetstream.ConsumerConfig
	}{
		"after what it is done with": {
			jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &created},
			7,
			jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 8},
		},
		"not before where it began": {
			jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 20},
			7,
			jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 20},
		},
		"with what came since it was made": {
			jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy},
			0,
			jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &created},
		},
		"with all": {jetstream.ConsumerConfig{}, 0, jetstream.ConsumerConfig{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := &jetstream.ConsumerInfo{Config: tt.cfg, Created: created, AckFloor: jetstream.SequenceInfo{Stream: tt.done}}
			if diff := cmp.Diff(tt.want, goesOn(info)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
