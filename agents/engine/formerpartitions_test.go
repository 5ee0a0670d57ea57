package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go/jetstream"
)

// partitionLanes are the consumers of the partitions of an agent.
func (w *world) partitionLanes(agent string) (names []string) {
	w.t.Helper()
	stream, err := w.bus.JS.Stream(w.t.Context(), bus.RoutesStream)
	if err != nil {
		w.t.Fatal(err)
	}
	list := stream.ConsumerNames(w.t.Context())
	for name := range list.Name() {
		if strings.HasPrefix(name, "part-"+agent+"-") {
			names = append(names, name)
		}
	}
	if list.Err() != nil {
		w.t.Fatal(list.Err())
	}
	slices.Sort(names)
	return names
}

// hasPartitionLanes waits until the consumers of partitions are those of the first n.
func (w *world) hasPartitionLanes(n int) {
	w.t.Helper()
	var want []string
	for number := range n {
		want = append(want, fmt.Sprint("part-ana-", number))
	}
	waittest.Until(w.t, fmt.Sprint("there are the lanes of ", n), func() bool {
		l := w.layoutOf("ana")
		return l.Settled && l.Partitions == n && slices.Equal(w.partitionLanes("ana"), want)
	})
}

// The lanes of former partitions go once these have done what they were given, on all hosts. A
// host that starts makes none for them. When there are more partitions again, they work.
func TestFormerPartitionsGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hot(4))
	second := w.beside("second", hot(4))
	said := 0
	talk := func() {
		t.Helper()
		check := w.listening(12, 1)
		for p := range 12 {
			w.say("ana", bus.Inbound{ID: fmt.Sprintf("m%d-%d", said, p), From: fmt.Sprint("p", p), Text: "0"})
		}
		said++
		check()
	}
	talk()
	w.hasPartitionLanes(4)
	for _, n := range []int{1, 4, 0, 3} {
		w.divide(n)
		second.divide(n)
		w.hasPartitionLanes(n)
		talk()
	}
	w.divide(1)
	second.divide(1)
	w.hasPartitionLanes(1)
	second.stop()
	left := jetstream.ConsumerConfig{Durable: "part-ana-7", AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: bus.PartSubject("ana", 7)}
	if _, err := w.bus.JS.CreateConsumer(t.Context(), bus.RoutesStream, left); err != nil { // as of a host that died
		t.Fatal(err)
	}
	second.start(hot(1))
	talk()
	w.hasPartitionLanes(1)
	w.settled()
	for _, p := range append(w.fleet.Partitions(), second.fleet.Partitions()...) {
		if p.Partition > 0 {
			t.Errorf("the former partition %d is served", p.Partition)
		}
	}
}
