package inmemory_test

import (
	"context"
	"fmt"

	"agenthost/session"
	"agenthost/session/inmemory"
)

func Example() {
	type conversation struct{ messages int }
	sessions := inmemory.NewManager(inmemory.Options[*conversation]{
		Max: new(2),
		New: func(session.Key) *conversation { return new(conversation) },
		OnExpire: func(key session.Key, c *conversation, reason inmemory.Reason) {
			fmt.Println("dropped", key, "after", c.messages, "message, reason:", reason)
		},
	})
	for _, key := range []session.Key{
		session.DM("telegram", "sales", "42"),
		session.Group("slack", "", "C1", "17"),
		session.Route("ops", "c-1"),
	} {
		e := sessions.Acquire(key) // stays while in flight
		e.Value.messages++
		e.Release()
	}

	ctx, stop := context.WithCancel(context.Background())
	stop() // a host that serves would stop at a signal
	sessions.Run(ctx)
	// Output:
	// dropped telegram.sales/dm/42 after 1 message, reason: cap
	// dropped slack/group/C1/17 after 1 message, reason: shutdown
	// dropped route/ops/c-1 after 1 message, reason: shutdown
}
