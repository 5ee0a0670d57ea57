package unsent_test

import (
	"context"
	"testing"
	"time"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/unsent"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

// Of earlier replies those go out again that their stream does not have, each with its
// commit, and those that no stream stores.
func TestAdd(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	for _, id := range []string{"r1.1", "r2.1"} {
		msg := &nats.Msg{Subject: "plugin.outbound.web", Header: nats.Header{nats.MsgIdHdr: {id}}, Data: []byte("{}")}
		if _, err := b.JS.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	a := &inflight.Agent{ID: "ana", Parts: parts.New(parts.Options{Reader: records.NewReader(b.JS)}), Work: context.Background()}
	finder := unsent.Finder{Session: inflight.Session{Agent: a, Key: "web/dm/ann"}}
	first, second := &outbox.Batch{}, &outbox.Batch{}
	reply := func(id, subject string, out *outbox.Batch) unsent.Reply {
		return unsent.Reply{Reply: &run.Reply{ID: id, Subject: subject}, At: time.Now().Add(-time.Minute), Out: out}
	}
	err := finder.Add(t.Context(), []unsent.Reply{
		reply("r1.1", "plugin.outbound.web", first), reply("r1.2", "plugin.outbound.web", first),
		reply("r2.1", "plugin.outbound.web", second), reply("r2.2", "job.results", second),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"r1.2"}, ids(first)); diff != "" {
		t.Error("of the first commit (-want +got):\n" + diff)
	}
	if diff := cmp.Diff([]string{"r2.2"}, ids(second)); diff != "" {
		t.Error("of the second commit (-want +got):\n" + diff)
	}
}

func ids(out *outbox.Batch) (list []string) {
	for _, r := range out.Replies {
		list = append(list, r.ID)
	}
	return list
}
