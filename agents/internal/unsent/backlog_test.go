package unsent_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/unsent"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// If the oldest commit was not published, those before are looked through until one was. Only
// what goes to plugins counts of these.
func TestBacklog(t *testing.T) {
	t.Parallel()
	const plugin, caller = "plugin.outbound.web", "job.results"
	tests := map[string]struct {
		said   [][]string // of each commit, the subjects of its replies
		stored []string   // ids of replies, which are "commit.n"
		want   []string
		first  int // the first commit that was looked through
	}{
		"the last is published":        {[][]string{{plugin}, {plugin}, {plugin}}, []string{"3.1"}, nil, 3},
		"a part of the last is":        {[][]string{{plugin}, {plugin}, {plugin, plugin}}, []string{"3.1"}, []string{"3.2"}, 3},
		"the last is for a caller":     {[][]string{{plugin}, {plugin}, {caller}}, nil, []string{"3.1"}, 3},
		"one is not":                   {[][]string{{plugin}, {plugin}, {plugin}}, []string{"1.1", "2.1"}, []string{"3.1"}, 3},
		"two are not":                  {[][]string{{plugin}, {plugin}, {plugin}}, []string{"1.1"}, []string{"2.1", "3.1"}, 2},
		"one is published in part":     {[][]string{{plugin}, {plugin, plugin}, {plugin}}, []string{"1.1", "2.1"}, []string{"2.2", "3.1"}, 2},
		"none is":                      {[][]string{{plugin}, {plugin}, {plugin}}, nil, []string{"1.1", "2.1", "3.1"}, 1},
		"what a caller got is between": {[][]string{{plugin}, {caller, plugin}, {caller}, {plugin}}, []string{"1.1"}, []string{"2.2", "4.1"}, 2},
		"many are not": {
			[][]string{{plugin}, {plugin}, {plugin}, {plugin}, {plugin}, {plugin}, {plugin}, {plugin}},
			[]string{"1.1", "2.1"},
			[]string{"3.1", "4.1", "5.1", "6.1", "7.1", "8.1"},
			3,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.Open(t)
			bustest.Provision(t, b.JS)
			store := &session.Store{
				Publisher: publisher(t, b.NC), Reader: records.NewReader(b.JS), Files: filestore.New(b.JS), Limit: 1 << 19, Log: zerolog.Nop(),
			}
			log, err := store.Open(t.Context(), "ana", "web/dm/ann")
			if err != nil {
				t.Fatal(err)
			}
			for i, subjects := range tt.said {
				commit(t, log, fmt.Sprint(i+1), subjects)
			}
			for _, id := range tt.stored {
				msg := &nats.Msg{Subject: plugin, Header: nats.Header{nats.MsgIdHdr: {id}}, Data: []byte("{}")}
				if _, err := b.JS.PublishMsg(t.Context(), msg); err != nil {
					t.Fatal(err)
				}
			}
			a := &inflight.Agent{ID: "ana", Parts: parts.New(parts.Options{Reader: store.Reader, Store: store}), Work: context.Background()}
			last := log.Replied()
			got, err := unsent.Finder{Session: inflight.Session{Agent: a, Key: "web/dm/ann"}}.Backlog([]uint64{last}, log.RepliedBefore(last))
			if err != nil {
				t.Fatal(err)
			}
			var missing []string
			for _, out := range got.Batches {
				missing = append(missing, ids(out)...)
			}
			if diff := cmp.Diff(tt.want, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if got.First != uint64(tt.first) {
				t.Errorf("looked through from commit %d on, want %d", got.First, tt.first)
			}
		})
	}
}

// commit commits an input with replies on those subjects.
func commit(t *testing.T, log *session.Log, id string, subjects []string) {
	t.Helper()
	events := []run.Event{{Type: run.InputRefused, At: time.Now().UTC(), Input: &run.Input{ID: id, Subject: bus.InboundPrefix + "web", Envelope: []byte("{}")}}}
	for n, subject := range subjects {
		reply := &run.Reply{ID: fmt.Sprintf("%s.%d", id, n+1), Subject: subject, Envelope: []byte("{}")}
		events = append(events, run.Event{Type: run.OperatorSaid, At: time.Now().UTC(), Reply: reply})
	}
	stored := make(chan error, 1)
	log.Add(t.Context(), events, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
}

func publisher(t *testing.T, nc *nats.Conn) *publishing.Publisher {
	t.Helper()
	p, err := publishing.New(nc, bustest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("publisher: %v", err)
		}
	})
	return p
}
