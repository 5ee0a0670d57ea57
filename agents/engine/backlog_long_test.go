//go:build long

package engine_test

import (
	"slices"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/run"
)

// Tasks of an agent have a lane of their own, so a task may be redelivered before the
// messages: their unpublished replies are published all the same, in the order of the log.
func TestUnpublishedRepliesOutliveACrashBehindATask(t *testing.T) {
	tests := map[string]struct {
		published int                 // of the replies, before the crash
		then      func(w *crashWorld) // after that
		want      []string            // in AGENT_OUTBOUND
		count     int                 // of the messages
	}{
		"none is published":             {0, nil, messages(0, 3), 3},
		"the first is published":        {1, nil, messages(0, 3), 3},
		"many are not":                  {2, nil, messages(0, 20), 20},
		"what was published is deleted": {2, (*crashWorld).purgeReplies, messages(2, 4), 6},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				w.tell(messages(0, tt.published)...)
				w.pass()
				if tt.then != nil {
					tt.then(w)
				}
				time.Sleep(time.Minute)
				w.replies.hold()
				w.tell(messages(tt.published, tt.count-tt.published)...)
				w.pass()
				if n := len(w.committed(run.Finished)); n != tt.count {
					t.Fatalf("%d runs are committed, want %d", n, tt.count)
				}
				w.crashBehindTask()
				w.begin()
				w.pass()
				if texts := w.texts(); !slices.Equal(texts, tt.want) {
					t.Errorf("got %q before the messages come again, want the reply to each in the order of the log", texts)
				}
				time.Sleep(time.Minute)
				w.wantReplies(tt.want...)
				w.wantHeard(messages(0, tt.count)...)
			})
		})
	}
}

// purgeReplies deletes what was replied, as its age would.
func (w *crashWorld) purgeReplies() {
	w.t.Helper()
	stream, err := w.js.Stream(w.t.Context(), bus.OutboundStream)
	if err == nil {
		err = stream.Purge(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// crashBehindTask has the host die with a task for the session of the messages, which comes
// again before them.
func (w *crashWorld) crashBehindTask() {
	w.t.Helper()
	w.rest.hold() // its acknowledgement is lost
	msg, err := agents.StopMessage("ana", anaKey, "kate", "", "")
	if err != nil {
		w.t.Fatal(err)
	}
	w.parts.Publisher.Signer().Sign(msg)
	if _, err := w.js.PublishMsg(w.t.Context(), msg); err != nil {
		w.t.Fatal(err)
	}
	w.pass()
	w.crash()
	w.holdLane(bus.InboundStream, 10*time.Second)
}

// wantHeard sees that subscribers of the replies have got each of them once: the stream would
// drop a second copy, and they would not.
func (w *crashWorld) wantHeard(ids ...string) {
	w.t.Helper()
	texts := []string{}
	for len(w.out) > 0 {
		texts = append(texts, w.hear().Text)
	}
	if !slices.Equal(texts, ids) {
		w.t.Errorf("subscribers have got %q, want %q", texts, ids)
	}
}
