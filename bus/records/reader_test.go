package records_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/publishing"
	"agenthost/bus/records"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func numbers(from, to int) []string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

func payloads(t *testing.T, tail iter.Seq2[records.Record, error]) []string {
	t.Helper()
	var list []string
	for rec, err := range tail {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(rec.Data))
	}
	return list
}

func inDomain(t *testing.T, nc *nats.Conn, domain string) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.NewWithDomain(nc, domain)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func publishAsync(t *testing.T, js jetstream.JetStream, subject string, data []byte) {
	t.Helper()
	if _, err := js.PublishAsync(subject, data); err != nil {
		t.Fatal(err)
	}
}

func TestReader(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	r := records.NewReader(b.JS)
	bustest.Publish(t, b.JS, "agent.session.ana.x", "a", "b")
	bustest.Publish(t, b.JS, "agent.session.ana.y", "c")
	msg := nats.NewMsg("agent.session.ana.x")
	msg.Header.Set("Agent-Commit", "1")
	if _, err := b.JS.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	last, err := r.Last(t.Context(), bus.SessionsStream, "agent.session.ana.x")
	if err != nil {
		t.Fatal(err)
	}
	if last.Seq != 4 || last.Subject != "agent.session.ana.x" || last.Header.Get("Agent-Commit") != "1" || len(last.Data) != 0 || last.Time.IsZero() {
		t.Errorf("Last: got %+v, want the fourth, without a payload", last)
	}
	third, err := r.Get(t.Context(), bus.SessionsStream, 3)
	if err != nil || string(third.Data) != "c" || third.Subject != "agent.session.ana.y" || third.Seq != 3 {
		t.Errorf("Get: got %+v, %v, want the third", third, err)
	}
	if got, want := payloads(t, r.Tail(t.Context(), bus.SessionsStream, "agent.session.ana.x", 0)), []string{"a", "b", ""}; !cmp.Equal(got, want) {
		t.Errorf("Tail: got %q, want %q", got, want)
	}
}

func TestReaderFindsNothing(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	r := records.NewReader(b.JS)
	bustest.Publish(t, b.JS, "agent.session.ana.x", "a")
	if _, err := r.Last(t.Context(), bus.SessionsStream, "agent.session.ana.y"); !errors.Is(err, records.ErrNotFound) {
		t.Errorf("Last: got %v, want %v", err, records.ErrNotFound)
	}
	if _, err := r.Last(t.Context(), bus.SessionsStream, "agent.session.ana."+strings.Repeat("y", 5000)); !errors.Is(err, records.ErrNotFound) {
		t.Errorf("Last of a subject that no message can have: got %v, want %v", err, records.ErrNotFound)
	}
	if _, err := r.Get(t.Context(), bus.SessionsStream, 2); !errors.Is(err, records.ErrNotFound) {
		t.Errorf("Get: got %v, want %v", err, records.ErrNotFound)
	}
	for name, tail := range map[string]iter.Seq2[records.Record, error]{
		"another subject": r.Tail(t.Context(), bus.SessionsStream, "agent.session.ana.y", 1),
		"past the end":    r.Tail(t.Context(), bus.SessionsStream, "agent.session.ana.x", 2),
	} {
		if got := payloads(t, tail); got != nil {
			t.Errorf("%s: got %q, want nothing", name, got)
		}
	}
}

func TestReaderFails(t *testing.T) {
	b := bustest.Open(t)
	r := records.NewReader(b.JS)
	calls := map[string]func(ctx context.Context) error{
		"Last": func(ctx context.Context) error { _, err := r.Last(ctx, "NONE", "x"); return err },
		"Get":  func(ctx context.Context) error { _, err := r.Get(ctx, "NONE", 1); return err },
		"Tail": func(ctx context.Context) error {
			for _, err := range r.Tail(ctx, "NONE", "x", 1) {
				return err
			}
			return nil
		},
		"NotStored": func(ctx context.Context) error {
			_, err := r.NotStored(ctx, records.Search{Subject: "plugin.outbound.x"}, []string{"1"})
			return err
		},
	}
	for name, call := range calls {
		t.Run(name+" without a stream", func(t *testing.T) { bustest.WantError(t, call(t.Context()), "read stored message", "stream not found") })
		t.Run(name+" with its context ended", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			bustest.WantError(t, call(ctx), "read stored message")
		})
	}
	b.Close()
	for name, call := range calls {
		t.Run(name+" without NATS", func(t *testing.T) { bustest.WantError(t, call(t.Context()), "read stored message", "closed") })
	}
}

// A request whose answer never comes does not wait for ever.
func TestReaderGivesUpOnSilence(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		describeStream(t, b.NC, "quiet", `{"num_replicas":1,"allow_direct":true}`)
		mute, err := b.NC.SubscribeSync("$JS.quiet.API.DIRECT.GET.>")
		if err != nil {
			t.Fatal(err)
		}
		defer mute.Unsubscribe()
		r := records.NewReader(inDomain(t, b.NC, "quiet"))
		if _, err := r.Last(t.Context(), "S", "s"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Last: got %v, want %v", err, context.DeadlineExceeded)
		}
		for _, err := range r.Tail(t.Context(), "S", "s", 1) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Tail: got %v, want %v", err, context.DeadlineExceeded)
			}
		}
	})
}

// describeStream answers for a domain of its own how its stream S is configured.
func describeStream(t *testing.T, nc *nats.Conn, domain, config string) {
	t.Helper()
	sub, err := nc.Subscribe("$JS."+domain+".API.STREAM.INFO.S", func(m *nats.Msg) {
		_ = m.Respond(fmt.Appendf(nil, `{"config":%s}`, config))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
}

// What no server of today answers is an error all the same.
func TestReaderRefusesOddAnswers(t *testing.T) {
	b := bustest.Open(t)
	describeStream(t, b.NC, "odd", `{"num_replicas":1,"allow_direct":true}`)
	tests := map[string]struct {
		header nats.Header
		want   string
	}{
		"a failure":          {nats.Header{"Status": {"500"}, "Description": {"on fire"}}, "read stored message: status 500 on fire"},
		"no sequence":        {nats.Header{"Nats-Subject": {"s"}}, "read stored message: sequence: "},
		"a time of its own":  {nats.Header{"Nats-Sequence": {"1"}, "Nats-Time-Stamp": {"noon"}}, "read stored message: time: "},
		"a broken sequence":  {nats.Header{"Nats-Sequence": {"one"}}, "read stored message: sequence: "},
		"a sequence below 0": {nats.Header{"Nats-Sequence": {"-1"}}, "read stored message: sequence: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			odd, err := b.NC.Subscribe("$JS.odd.API.DIRECT.GET.>", func(m *nats.Msg) {
				_ = m.RespondMsg(&nats.Msg{Header: tt.header})
			})
			if err != nil {
				t.Fatal(err)
			}
			defer odd.Unsubscribe()
			r := records.NewReader(inDomain(t, b.NC, "odd"))
			_, err = r.Last(t.Context(), "S", "s")
			bustest.WantError(t, err, tt.want)
			for _, err := range r.Tail(t.Context(), "S", "s", 1) {
				bustest.WantError(t, err, tt.want)
			}
		})
	}
}

func TestTailReadsBatchAfterBatch(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	r := records.NewReader(b.JS)
	for i := range 700 { // every second message is another subject's
		publishAsync(t, b.JS, "agent.session.ana.y", fmt.Append(nil, "y", i))
		publishAsync(t, b.JS, "agent.session.ana.x", fmt.Append(nil, i))
	}
	<-b.JS.PublishAsyncComplete()
	tail := func(seq uint64) iter.Seq2[records.Record, error] {
		return r.Tail(t.Context(), bus.SessionsStream, "agent.session.ana.x", seq)
	}
	if diff := cmp.Diff(numbers(0, 699), payloads(t, tail(0))); diff != "" {
		t.Errorf("all: %s", diff)
	}
	if diff := cmp.Diff(numbers(600, 699), payloads(t, tail(1201))); diff != "" {
		t.Errorf("from 1201: %s", diff)
	}
	n := 0
	for range tail(0) {
		if n++; n == 300 {
			break
		}
	}
	if n != 300 {
		t.Errorf("a tail broken off: got %d, want 300", n)
	}
	exact := payloads(t, r.Tail(t.Context(), bus.SessionsStream, "agent.session.ana.x", uint64(1400-2*256+1)))
	if diff := cmp.Diff(numbers(700-256, 699), exact); diff != "" {
		t.Errorf("exactly a batch: %s", diff)
	}
}

func TestTailSkipsWhatWasDeleted(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	bustest.Publish(t, b.JS, "agent.session.ana.x", numbers(1, 300)...)
	stream, err := b.JS.Stream(t.Context(), bus.SessionsStream)
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{1, 2, 100, 256, 257, 299, 300} {
		if err := stream.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	want := append(append(append(numbers(3, 99), numbers(101, 255)...), numbers(258, 298)...), []string{}...)
	if diff := cmp.Diff(want, payloads(t, records.NewReader(b.JS).Tail(t.Context(), bus.SessionsStream, "agent.session.ana.x", 0))); diff != "" {
		t.Error(diff)
	}
	if _, err := records.NewReader(b.JS).Get(t.Context(), bus.SessionsStream, 100); !errors.Is(err, records.ErrNotFound) {
		t.Errorf("Get of a deleted message: got %v, want %v", err, records.ErrNotFound)
	}
}

// More than the client buffers, all together.
func TestTailOfLargeMessages(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	const many, size = 90, 1 << 20 * 9 / 10
	for i := range many {
		publishAsync(t, b.JS, "agent.session.ana.x", bytes.Repeat([]byte{byte(i)}, size))
	}
	<-b.JS.PublishAsyncComplete()
	n := 0
	for rec, err := range records.NewReader(b.JS).Tail(t.Context(), bus.SessionsStream, "agent.session.ana.x", 0) {
		if err != nil {
			t.Fatalf("after %d: %v", n, err)
		}
		if len(rec.Data) != size || rec.Data[0] != byte(n) {
			t.Fatalf("message %d: got %d bytes of %d, want %d of %d", n, len(rec.Data), rec.Data[0], size, n)
		}
		n++
	}
	if n != many {
		t.Errorf("got %d messages, want %d", n, many)
	}
}

// Everything works in a JetStream domain.
func TestDomain(t *testing.T) {
	cfg := bustest.Config(t)
	cfg.Domain = "edge"
	cfg.Embedded.Config = bustest.WriteFile(t, "nats.conf", "jetstream { domain: edge }\n")
	b := bustest.OpenConfig(t, cfg)
	bustest.Provision(t, b.JS)
	p, err := publishing.New(b.NC, bustest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.PublishWait(t.Context(), message("agent.session.ana.x", "1")); err != nil {
		t.Fatal(err)
	}
	r := records.NewReader(b.JS)
	if rec, err := r.Last(t.Context(), bus.SessionsStream, "agent.session.ana.x"); err != nil || string(rec.Data) != "1" {
		t.Errorf("Last: got %+v, %v", rec, err)
	}
	if got := payloads(t, r.Tail(t.Context(), bus.SessionsStream, "agent.session.ana.x", 0)); !cmp.Equal(got, []string{"1"}) {
		t.Errorf("Tail: got %q, want 1", got)
	}
	if _, err := r.NotStored(t.Context(), records.Search{Subject: "plugin.outbound.web", Since: time.Now()}, []string{"1"}); err != nil {
		t.Error(err)
	}
	_, err = records.NewReader(inDomain(t, b.NC, "other")).Last(t.Context(), bus.SessionsStream, "agent.session.ana.x")
	bustest.WantError(t, err, "no responders")
}

// A stream has all that it was given from a time on.
func TestBegin(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		r := records.NewReader(b.JS)
		stream, err := b.JS.Stream(t.Context(), bus.OutboundStream)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		store := func(minute int) {
			time.Sleep(time.Until(began.Add(time.Duration(minute) * time.Minute)))
			if _, err := b.JS.PublishMsg(t.Context(), message("plugin.outbound.web", fmt.Sprint("x", minute))); err != nil {
				t.Fatal(err)
			}
		}
		want := func(state string, minute int) {
			t.Helper()
			at, err := r.Begin(t.Context(), bus.OutboundStream)
			got := -1
			if !at.IsZero() {
				got = int(at.Sub(began).Round(time.Minute) / time.Minute)
			}
			if err != nil || got != minute {
				t.Errorf("%s: got minute %d, %v, want %d", state, got, err, minute)
			}
		}
		want("never used", -1)
		store(1)
		store(2)
		store(3)
		want("nothing deleted", -1)
		if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(2)); err != nil {
			t.Fatal(err)
		}
		want("the oldest deleted", 2)
		if err := stream.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		want("all deleted", 3)
		if _, err := r.Begin(t.Context(), "NONE"); !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Errorf("without a stream: got %v", err)
		}
	})
}
