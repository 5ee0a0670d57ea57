//go:build long

package engine_test

import (
	"fmt"
	"testing"

	"agenthost/bus"
)

// An answer in words does not count against the rate of who gives it; any other message does.
func TestAnswersInWordsDoNotCount(t *testing.T) {
	t.Parallel()
	words := map[string]struct{ asks, answer, says string }{
		"approval": {"write", "approve", "wrote note.txt"}, "option": {"color", "red", "red"}, "text": {"name", "Bob", "Bob"},
	}
	for _, over := range []string{refuse, wait} {
		for name, word := range words {
			for _, partitions := range []int{0, 2} {
				for _, restarts := range []bool{false, true} {
					t.Run(fmt.Sprint(over, " ", name, " ", partitions, " ", restarts), func(t *testing.T) {
						t.Parallel()
						a := asker(new(runs), rated(2, over), divided(partitions))
						w := newWorld(t, a)
						w.say("ana", bus.Inbound{Text: "hello"})
						w.expect("reply", "You said: hello")
						w.say("ana", bus.Inbound{Text: word.asks})
						w.hear()
						w.settled()
						if restarts {
							w.stop()
							w.start(a)
						}
						w.say("ana", bus.Inbound{Text: word.answer})
						w.expect("reply", "It says: "+word.says)
						w.settled()
						w.silent()
					})
				}
			}
		}
	}
}
