package plugins

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A consumer that is made again brings neither what was settled nor leaves anything out.
func TestGoOn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		position uint64
		all      bool // the stream was made again
		policy   jetstream.DeliverPolicy
		start    uint64
	}{
		"behind what is settled":        {7, false, jetstream.DeliverByStartSequencePolicy, 8},
		"all is settled":                {10, false, jetstream.DeliverByStartSequencePolicy, 11},
		"settled is more than there is": {11, false, jetstream.DeliverAllPolicy, 0},
		"the stream is another":         {7, true, jetstream.DeliverAllPolicy, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &Courier{position: tt.position, all: tt.all}
			want := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy}
			if err := c.goOn(t.Context(), 10, &want); err != nil {
				t.Fatal(err)
			}
			if want.DeliverPolicy != tt.policy || want.OptStartSeq != tt.start {
				t.Errorf("got %v from %d, want %v from %d", want.DeliverPolicy, want.OptStartSeq, tt.policy, tt.start)
			}
		})
	}
}

// What was settled in a stream says nothing of the one that is made in its place.
func TestStartOver(t *testing.T) {
	t.Parallel()
	c := &Courier{settled: newSettled(), position: 7}
	c.settled.add(5)
	for _, again := range []bool{false, false, true} {
		created := time.Unix(1, 0)
		if again {
			created = time.Unix(2, 0)
		}
		c.startOver(created)
		if c.all != again || (c.position == 0) != again || c.settled.has(5) == again {
			t.Errorf("made again: %t; all %t, position %d, known as settled: %t", again, c.all, c.position, c.settled.has(5))
		}
	}
}

// A consumer of a program under the name of an account's is not taken for that.
func TestIsAccounts(t *testing.T) {
	t.Parallel()
	pinned := jetstream.PriorityPolicyPinned
	for name, tt := range map[string]struct {
		config jetstream.ConsumerConfig
		want   bool
	}{
		"an account's":   {jetstream.ConsumerConfig{PriorityPolicy: pinned, PriorityGroups: []string{ownerGroup}}, true},
		"a program's":    {jetstream.ConsumerConfig{}, false},
		"another group":  {jetstream.ConsumerConfig{PriorityPolicy: pinned, PriorityGroups: []string{"mine"}}, false},
		"another policy": {jetstream.ConsumerConfig{PriorityPolicy: jetstream.PriorityPolicyOverflow, PriorityGroups: []string{ownerGroup}}, false},
	} {
		if got := isAccounts(tt.config); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

// Of a reply that is cut otherwise now no part is left out.
func TestPartsThatAreTaken(t *testing.T) {
	t.Parallel()
	for noted, want := range map[progress]int{{}: 0, {2, 4}: 2, {2, 3}: 0, {3, 3}: 4, {0, 4}: 0, {4, 4}: 4} {
		if got := noted.of(4); got != want {
			t.Errorf("%d of %d: got %d of 4, want %d", noted.Taken, noted.Parts, got, want)
		}
	}
}
