package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

// Who waits for a task that cannot be read is told so; there is a dead letter
// besides.
func TestUnreadableTaskIsTurnedBack(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		task string
		told bool
	}{
		"no text":               {`{"id":"t1","kind":"delegate","reply_to":"told","correlation_id":"c1","text":" "}`, true},
		"bad deadline":          {`{"id":"t1","kind":"delegate","reply_to":"told","correlation_id":"c1","text":"do it","deadline":"soon"}`, true},
		"bad id":                {`{"id":7,"kind":"delegate","reply_to":"told","correlation_id":"c1","text":"do it"}`, true},
		"more behind it":        {`{"id":"t1","kind":"delegate","reply_to":"told","REPLY_TO":"else","correlation_id":"c1","text":"do it"} please`, true},
		"cut off":               {`{"id":"t1","kind":"delegate","reply_to":"told","correlation_id":"c1","text":"do`, false},
		"no address":            {`{"id":"t1","kind":"delegate","correlation_id":"c1"}`, false},
		"bad address":           {`{"id":"t1","kind":"delegate","reply_to":"told.*","correlation_id":"c1","text":"do it"}`, false},
		"bad kind":              {`{"id":"t1","kind":"order","reply_to":"told","correlation_id":"c1","text":"do it"}`, true},
		"number kind":           {`{"id":"t1","kind":7,"reply_to":"told","correlation_id":"c1","text":"do it"}`, true},
		"no kind":               {`{"id":"t1","reply_to":"told","correlation_id":"c1","text":"do it"}`, true},
		"bad kind, bad address": {`{"id":"t1","kind":"order","reply_to":"plugin.outbound.web","correlation_id":"c1","text":"do it"}`, false},
		"other names":           {`{"id":"t1","KIND":"delegate","REPLY_TO":"told","correlation_id":"c1"}`, false},
		"not delegated":         {`{"id":"t1","kind":"event","reply_to":"told","correlation_id":"c1"}`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", script(`rules: [{text: "${text}"}]`)))
			told, dead := make(chan *nats.Msg, 10), make(chan *nats.Msg, 10)
			for subject, c := range map[string]chan *nats.Msg{"told": told, "agent.dead.ana": dead} {
				if _, err := w.bus.NC.ChanSubscribe(subject, c); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.bus.NC.Publish("agent.route.ana", []byte(tt.task)); err != nil {
				t.Fatal(err)
			}
			select {
			case <-dead:
			case <-time.After(60 * time.Second):
				t.Fatal("no dead letter")
			}
			w.settled()
			if (len(told) == 1) != tt.told {
				t.Fatalf("told %d times, want it: %t", len(told), tt.told)
			}
			if !tt.told {
				return
			}
			r := bus.Route{}
			if err := json.Unmarshal((<-told).Data, &r); err != nil {
				t.Fatal(err)
			}
			if r.Kind != "result" || r.CorrelationID != "c1" || r.From != "ana" || r.Error == nil || r.Error.Code != "validation" {
				t.Errorf("told %+v", r)
			}
		})
	}
}

// Tasks without an id are told apart, also in a stream that takes an id once.
func TestUnreadableTasksWithoutAnID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{text: "${text}"}]`)))
	told := make(chan *nats.Msg, 10)
	if _, err := w.bus.NC.ChanSubscribe("agent.route.bank", told); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, c := range []string{"c1", "c2"} {
		w.publish("agent.route.ana", json.RawMessage(`{"kind":"delegate","reply_to":"agent.route.bank","correlation_id":"`+c+`"}`))
		want[c] = true
	}
	ids := map[string]bool{}
	for range 2 {
		select {
		case m := <-told:
			r := bus.Route{}
			if err := json.Unmarshal(m.Data, &r); err != nil {
				t.Fatal(err)
			}
			delete(want, r.CorrelationID)
			ids[r.ID], ids[m.Header.Get(nats.MsgIdHdr)] = true, true
			if r.InReplyTo == "" {
				t.Errorf("%s answers nothing", m.Data)
			}
		case <-time.After(60 * time.Second):
			t.Fatal("no result")
		}
	}
	if len(want) > 0 || len(ids) != 4 {
		t.Errorf("not told of %v; the ids are %v", want, ids)
	}
}
