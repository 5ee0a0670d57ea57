package publishing_test

import (
	"fmt"
	"testing"
	"time"

	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// BenchmarkPublish is a message on its way to the disk and its acknowledgement
// back, with so many under way.
func BenchmarkPublish(b *testing.B) {
	for _, flight := range []int{1, 256} {
		b.Run(fmt.Sprintf("flight=%d", flight), func(b *testing.B) {
			n := bustest.Open(b)
			bustest.MakeStream(b, n.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Duplicates: time.Minute})
			p, _ := publisher(b, n.NC, zerolog.Nop())
			slots := make(chan struct{}, flight)
			free := func(uint64, bool, error) { <-slots }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				slots <- struct{}{}
				p.Publish(message("s", fmt.Sprint(i)), free)
			}
			flush(b, p)
		})
	}
}
