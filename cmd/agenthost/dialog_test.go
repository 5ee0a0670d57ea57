package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/internal/control"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

// What comes in is told in order; what belongs to another question is not the
// answer.
func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialog{inbox: "inbox", received: make(chan *nats.Msg), follower: new(control.Follower)}
		go func() {
			time.Sleep(quietAfter + time.Second)
			for _, m := range []nats.Msg{
				{Subject: "stream", Data: []byte(`{"run":"p","offset":0,"text":"to others","in_reply_to":"p"}`)},
				{Subject: "stream", Data: []byte(`{"run":"r","offset":0,"text":"he","in_reply_to":"q"}`)},
				{Subject: "stream", Data: []byte(`garbage`)},
				{Subject: "inbox", Data: []byte(`garbage`)},
				{Subject: "inbox", Data: []byte(`{`)},
				{Subject: "inbox", Data: []byte(`{"kind":"result","correlation_id":"c","in_reply_to":"other","text":"no"}`)},
				{Subject: "inbox", Data: []byte(`{"kind":"result","correlation_id":"c","in_reply_to":"q","text":"hello"}`)},
			} {
				d.received <- &m
			}
		}()
		var told []string
		a, err := d.answer(t.Context(), question{id: "q"}, listener{
			chunk: func(c control.Chunk) { told = append(told, c.Text) },
			quiet: func() { told = append(told, "…") },
		})
		if err != nil || a.Text != "hello" {
			t.Errorf("got %q, %v", a.Text, err)
		}
		if diff := cmp.Diff([]string{"…", "he"}, told); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestAnswerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errNoAnswer)
		defer cancel()
		d := &dialog{received: make(chan *nats.Msg)}
		if _, err := d.answer(ctx, question{}, listener{}); !errors.Is(err, errNoAnswer) {
			t.Errorf("got %v, want %v", err, errNoAnswer)
		}
	})
}
