package conversation

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// NATS may take its time: sessions that want to know the same wait for one answer, not each for
// the answers to those before it.
func TestOneQuestionForAllSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 3 * time.Second
		var h handled
		var asked int
		ask := func() (floor, error) {
			asked++
			time.Sleep(takes)
			if asked == 1 {
				return floor{}, errors.New("no answer")
			}
			return floor{upTo: 7, taken: true, at: time.Now()}, nil
		}
		for question := 1; question <= 2; question++ {
			began := time.Now()
			var sessions sync.WaitGroup
			for range 3 {
				sessions.Go(func() {
					f, err := h.of("plugin.inbound.chat", ask)
					if (err == nil) != (question == 2) || (err == nil && f.upTo != 7) {
						t.Errorf("question %d: %v, %v", question, f, err)
					}
				})
			}
			sessions.Wait()
			if took := time.Since(began); took != takes || asked != question {
				t.Errorf("question %d was asked %d times, and took %s", question, asked, took)
			}
		}
		if _, err := h.of("plugin.inbound.chat", ask); err != nil || asked != 2 {
			t.Errorf("asked again at once: %d, %v", asked, err)
		}
		time.Sleep(2 * otherLaneLook)
		if _, err := h.of("plugin.inbound.chat", ask); err != nil || asked != 3 {
			t.Errorf("an old answer was taken: asked %d times, %v", asked, err)
		}
	})
}
