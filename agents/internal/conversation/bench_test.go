package conversation_test

import (
	"fmt"
	"testing"

	"agenthost/agents/internal/conversation"
)

// BenchmarkMailbox is an input that comes and one that goes.
func BenchmarkMailbox(b *testing.B) {
	for _, waiting := range []int{0, 31} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			m := conversation.NewMailbox(waiting)
			b.ReportAllocs()
			for b.Loop() {
				m.Turn()
			}
		})
	}
}
