package plugins

import (
	"testing"
	"time"
)

// Of two limits that come one after the other the one counts that ends last.
func TestPauseIsNotShortened(t *testing.T) {
	for name, account := range map[string]bool{"a chat": false, "the account": true} {
		t.Run(name, func(t *testing.T) {
			o := &outbox{chats: map[string]*chat{}}
			ch := o.chat("ana")
			until := func() time.Time {
				if account {
					return o.pausedUntil
				}
				return ch.pausedUntil
			}
			o.pause(ch, account, time.Minute)
			long := until()
			o.pause(ch, account, time.Second)
			if !until().Equal(long) {
				t.Errorf("it is paused for %s, want a minute", time.Until(until()))
			}
			o.pause(ch, account, time.Hour)
			if !until().After(long) {
				t.Error("a longer pause does not count")
			}
		})
	}
}
