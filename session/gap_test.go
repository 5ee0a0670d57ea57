//go:build long

package session_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A damagedCopy answers as a copy of a stream that lacks a message, where the leader has it.
type damagedCopy struct {
	lacks atomic.Uint64
	asked atomic.Int64 // reads of copies
}

// reader reads by way of the copy.
func (d *damagedCopy) reader(t *testing.T, nc *nats.Conn) *records.Reader {
	t.Helper()
	const prefix = "COPY"
	_, err := nc.Subscribe(prefix+".>", func(m *nats.Msg) {
		req := nats.NewMsg("$JS.API" + strings.TrimPrefix(m.Subject, prefix))
		req.Data, req.Reply = m.Data, m.Reply
		if strings.HasPrefix(req.Subject, "$JS.API.DIRECT.GET.") {
			d.asked.Add(1)
			req.Reply = nats.NewInbox()
			if _, err := nc.Subscribe(req.Reply, func(answer *nats.Msg) {
				if answer.Header.Get(jetstream.SequenceHeader) != strconv.FormatUint(d.lacks.Load(), 10) {
					answer.Subject = m.Reply
					_ = nc.PublishMsg(answer)
				}
			}); err != nil {
				t.Error(err)
			}
		}
		_ = nc.PublishMsg(req)
	})
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.NewWithAPIPrefix(nc, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return records.NewReader(js)
}

// A session does not go on as if what a damaged copy lacks had never been said: it is read
// from the leader. Where NATS has lost it for good, the session goes on, and says so.
func TestOpenPastAGap(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		lost   bool
		others int // messages of others in the stream, behind each turn
	}{
		"a copy lacks a commit":                  {lost: false},
		"the commit is lost":                     {lost: true},
		"a copy lacks a commit of a busy stream": {lost: false, others: 3000},
		"the commit of a busy stream is lost":    {lost: true, others: 3000},
	} {
		lost := of.lost
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := open(t)
			c := openTalk(t, s)
			for range 3 {
				c.turn()
				if err := s.Publisher.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				crowd(t, b, of.others)
			}
			whole := len(c.State().Messages)
			var seqs []uint64
			for rec, err := range s.Reader.Tail(t.Context(), bus.SessionsStream, session.Subject("bot", session.SID("bot", ana)), 1) {
				if err != nil {
					t.Fatal(err)
				}
				seqs = append(seqs, rec.Seq)
			}
			copied := &damagedCopy{}
			copied.lacks.Store(seqs[1])
			s.Reader = copied.reader(t, b.NC)
			if lost {
				stream, err := b.JS.Stream(t.Context(), bus.SessionsStream)
				if err == nil {
					err = stream.DeleteMsg(t.Context(), seqs[1])
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			again, err := s.Open(t.Context(), "bot", ana)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(again.State().Messages); lost == (got == whole) {
				t.Errorf("%d messages of %d", got, whole)
			}
			if copied.asked.Load() == 0 {
				t.Error("no copy was asked")
			}
			again.Commit(t.Context(), "r", []run.Event{{Type: run.Suspended}}, func(err error) {
				if err != nil {
					t.Error(fmt.Errorf("commit behind the gap: %w", err))
				}
			})
			if err := s.Publisher.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
