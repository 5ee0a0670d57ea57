package records_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/bus/streams"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What a copy of a stream lacks is read all the same, and what it still has
// though it was deleted is not.
func TestLaggingCopyIsNotBelieved(t *testing.T) {
	c := bustest.StartCluster(t)
	b := bustest.OpenConfig(t, bus.Config{URL: c.URL(0)})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := streams.Provision(t.Context(), b.JS, 3, 0, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
	r := records.NewReader(b.JS)
	const old, x, y = "agent.session.ana.old", "agent.session.ana.x", "agent.session.ana.y"
	bustest.Publish(t, b.JS, old, "gone")
	bustest.Publish(t, b.JS, x, numbers(1, 3)...)
	lanes, err := b.JS.KeyValue(t.Context(), bus.LanesBucket)
	if err != nil {
		t.Fatal(err)
	}
	put := func(key, value string) {
		t.Helper()
		if _, err := lanes.PutString(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	put("changed", "before")
	put("deleted", "before")
	began := time.Now()
	catchUp := c.Lag(bus.SessionsStream, bus.OutboundStream, "KV_"+bus.LanesBucket)
	defer catchUp()
	bustest.Publish(t, b.JS, x, numbers(4, 6)...)
	bustest.Publish(t, b.JS, y, "new")
	put("changed", "after")
	put("new.er", "after")
	if err := lanes.Delete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	stream, err := b.JS.Stream(t.Context(), bus.SessionsStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject(old)); err != nil {
		t.Fatal(err)
	}
	bustest.Publish(t, b.JS, old, "begun again")
	if _, err := b.JS.PublishMsg(t.Context(), message("plugin.outbound.web", "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.GetMsg(t.Context(), 5); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Fatalf("a direct get: got %v, want %v of the copy that lags", err, jetstream.ErrMsgNotFound)
	}

	record := func(t *testing.T, name string, rec records.Record, err error, want string) {
		t.Helper()
		if err != nil || string(rec.Data) != want {
			t.Errorf("%s: got %q, %v, want %q", name, rec.Data, err, want)
		}
	}
	rec, err := r.Last(t.Context(), bus.SessionsStream, x)
	record(t, "Last", rec, err, "6")
	rec, err = r.Get(t.Context(), bus.SessionsStream, 5)
	record(t, "Get", rec, err, "4")
	rec, err = r.Next(t.Context(), bus.SessionsStream, y, 1)
	record(t, "Next", rec, err, "new")
	rec, err = r.Next(t.Context(), bus.SessionsStream, old, 1)
	record(t, "Next of what was deleted and begun again", rec, err, "begun again")
	for _, key := range []string{"changed", "new.er"} {
		rec, err = r.Entry(t.Context(), bus.LanesBucket, key)
		record(t, "Entry "+key, rec, err, "after")
	}
	if rec, err := r.Entry(t.Context(), bus.LanesBucket, "deleted"); !errors.Is(err, records.ErrNotFound) {
		t.Errorf("Entry of what was deleted: got %q, %v, want %v", rec.Data, err, records.ErrNotFound)
	}
	for name, tt := range map[string]struct {
		subject string
		from    uint64
		want    []string
	}{
		"from the beginning":     {x, 0, numbers(1, 6)},
		"from where it lags":     {x, 4, numbers(3, 6)},
		"of what it lacks":       {y, 0, []string{"new"}},
		"deleted, begun again":   {old, 0, []string{"begun again"}},
		"of all":                 {"agent.session.>", 0, []string{"1", "2", "3", "4", "5", "6", "new", "begun again"}},
		"of what was never said": {"agent.session.ana.z", 0, nil},
	} {
		if diff := cmp.Diff(tt.want, payloads(t, r.Tail(t.Context(), bus.SessionsStream, tt.subject, tt.from))); diff != "" {
			t.Errorf("Tail %s: %s", name, diff)
		}
	}
	n := 0
	for range r.Tail(t.Context(), bus.SessionsStream, x, 0) {
		if n++; n == 2 {
			break
		}
	}
	if _, err := r.Last(t.Context(), bus.SessionsStream, "agent.session.ana.z"); !errors.Is(err, records.ErrNotFound) {
		t.Errorf("Last of what was never said: got %v, want %v", err, records.ErrNotFound)
	}
	left, err := r.NotStored(t.Context(), records.Search{Subject: "plugin.outbound.web", Since: began, Until: began, Most: 1000}, []string{"1", "2"})
	if want := map[string]bool{"2": true}; err != nil || !cmp.Equal(left, want) {
		t.Errorf("NotStored: got %v, %v, want %v", left, err, want)
	}
}

func TestEntry(t *testing.T) {
	b := bustest.Open(t)
	r := records.NewReader(b.JS)
	if _, err := r.Entry(t.Context(), bus.MemoryBucket, "k"); !errors.Is(err, jetstream.ErrBucketNotFound) {
		t.Errorf("without the bucket: got %v, want %v", err, jetstream.ErrBucketNotFound)
	}
	bustest.Provision(t, b.JS)
	kv, err := b.JS.KeyValue(t.Context(), bus.MemoryBucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"kept", "a.purged", "deleted"} {
		if _, err := kv.PutString(t.Context(), key, key); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(kv.Purge(t.Context(), "a.purged"), kv.Delete(t.Context(), "deleted")); err != nil {
		t.Fatal(err)
	}
	if rec, err := r.Entry(t.Context(), bus.MemoryBucket, "kept"); err != nil || string(rec.Data) != "kept" || rec.Seq != 1 {
		t.Errorf("got %q of revision %d, %v, want what was put", rec.Data, rec.Seq, err)
	}
	for _, key := range []string{"a.purged", "deleted", "never", "*", ">", "", "two words", "kept."} {
		if rec, err := r.Entry(t.Context(), bus.MemoryBucket, key); !errors.Is(err, records.ErrNotFound) {
			t.Errorf("%q: got %q, %v, want %v", key, rec.Data, err, records.ErrNotFound)
		}
	}
}

// A message of the leader is what it was when it was published.
func TestLeaderAnswersInFull(t *testing.T) {
	b := bustest.Open(t)
	if _, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil { // no direct gets
		t.Fatal(err)
	}
	msg := nats.NewMsg("s")
	msg.Data = bytes.Repeat([]byte{0, 255, '"'}, 1<<20/4) // longer than a message may be, once it is in JSON
	msg.Header["Agent-Commit"] = []string{"1", "2"}
	if _, err := b.JS.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	bustest.Publish(t, b.JS, "s", "plain")
	r := records.NewReader(b.JS)
	rec, err := r.Get(t.Context(), "S", 1)
	if err != nil || rec.Subject != "s" || rec.Seq != 1 || !bytes.Equal(rec.Data, msg.Data) || time.Since(rec.Time) > time.Minute {
		t.Errorf("got %d bytes on %s, number %d of %s, %v, want what was published", len(rec.Data), rec.Subject, rec.Seq, rec.Time, err)
	}
	if diff := cmp.Diff([]string{"1", "2"}, rec.Header["Agent-Commit"]); diff != "" {
		t.Error(diff)
	}
	if rec, err := r.Last(t.Context(), "S", "s"); err != nil || string(rec.Data) != "plain" || rec.Header.Get("Agent-Commit") != "" {
		t.Errorf("without a header: got %q, %v, %v", rec.Data, rec.Header, err)
	}
}

// A stream without a leader, or one that answers with an error, is not absent.
func TestNoAnswerOfTheLeaderIsAnError(t *testing.T) {
	b := bustest.Open(t)
	for answer, want := range map[string]string{
		`{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`: "temporarily unavailable",
		`{"error":{"code":404,"err_code":10059,"description":"stream not found"}}`:                         "stream not found",
		`{}`:                              "it has no message",
		`{"message":`:                     "unexpected end of JSON input",
		`{"message":{"hdrs":"bm9uZQ=="}}`: "header",
	} {
		t.Run(want, func(t *testing.T) {
			domain := fmt.Sprintf("d%d", len(answer))
			describeStream(t, b.NC, domain, `{"num_replicas":3,"allow_direct":true}`)
			sub, err := b.NC.Subscribe("$JS."+domain+".API.STREAM.MSG.GET.S", func(m *nats.Msg) { _ = m.Respond([]byte(answer)) })
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Unsubscribe()
			r := records.NewReader(inDomain(t, b.NC, domain))
			_, err = r.Last(t.Context(), "S", "s")
			bustest.WantError(t, err, "read stored message", want)
			for _, err := range r.Tail(t.Context(), "S", "s", 1) {
				bustest.WantError(t, err, "read stored message", want)
			}
		})
	}
}

// A stream that is given more copies, or a mirror that answers for it, is read
// from its leader from then on.
func TestReaderNoticesMoreCopies(t *testing.T) {
	for name, more := range map[string]string{
		"replicas": `"config":{"num_replicas":3,"allow_direct":true}`,
		"a mirror": `"config":{"num_replicas":1,"allow_direct":true},"alternates":[{"name":"S"},{"name":"M"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := bustest.Open(t)
				state, asked := `"config":{"num_replicas":1,"allow_direct":true}`, map[string]int{}
				js := fakeStream(t, b.NC, func() string { return state }, asked)
				r := records.NewReader(js)
				read := func(want string) {
					t.Helper()
					_, _ = r.Last(t.Context(), "S", "s")
					if asked[want] != 1 || len(asked) != 1 {
						t.Errorf("got %v, want one question: %s", asked, want)
					}
					clear(asked)
				}
				read("DIRECT")
				state = more
				read("DIRECT")
				time.Sleep(11 * time.Second)
				read("STREAM")
			})
		})
	}
}

// A request without an answer, as while a stream has no leader, is put again before
// the time for an answer is over.
func TestReaderAsksAgain(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		js := inDomain(t, b.NC, "fake")
		asked := map[string]int{}
		for subject, answer := range map[string]string{
			"STREAM.INFO.S":    `{"config":{"num_replicas":3,"allow_direct":true}}`,
			"STREAM.MSG.GET.S": `{"message":{"subject":"s","seq":7,"time":"2026-01-01T12:00:00Z"}}`,
		} {
			sub, err := b.NC.Subscribe("$JS.fake.API."+subject, func(m *nats.Msg) {
				if asked[subject]++; asked[subject] == 3 {
					_ = m.Respond([]byte(answer))
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = sub.Unsubscribe() })
		}
		rec, err := records.NewReader(js).Last(t.Context(), "S", "s")
		if err != nil || rec.Seq != 7 {
			t.Errorf("got %d, %v, want 7", rec.Seq, err)
		}
	})
}

// fakeStream is a stream of a domain of its own. It is as state says, has no
// messages, and counts what is asked.
func fakeStream(t *testing.T, nc *nats.Conn, state func() string, asked map[string]int) jetstream.JetStream {
	t.Helper()
	for subject, answer := range map[string]func(m *nats.Msg){
		"STREAM.INFO.S": func(m *nats.Msg) { _ = m.Respond([]byte("{" + state() + "}")) },
		"DIRECT.GET.S.s": func(m *nats.Msg) {
			asked["DIRECT"]++
			_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"404"}}})
		},
		"STREAM.MSG.GET.S": func(m *nats.Msg) {
			asked["STREAM"]++
			_ = m.Respond([]byte(`{"error":{"code":404,"err_code":10037}}`))
		},
	} {
		sub, err := nc.Subscribe("$JS.fake.API."+subject, answer)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = sub.Unsubscribe() })
	}
	return inDomain(t, nc, "fake")
}

// A list is read right after its consumer was made, which may be on a server whose
// subscription has not reached this one yet.
func TestHeadsOnACluster(t *testing.T) {
	c := bustest.StartCluster(t)
	b := bustest.OpenConfig(t, bus.Config{URL: c.URL(0)})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}, Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		bustest.Publish(t, b.JS, fmt.Sprint("s.", i), "x")
	}
	for range 300 {
		n := 0
		if err := records.Heads(t.Context(), b.JS, "S", "s.*", true, func(records.Record) { n++ }); err != nil || n != 10 {
			t.Fatalf("got %d, %v, want 10", n, err)
		}
	}
}
