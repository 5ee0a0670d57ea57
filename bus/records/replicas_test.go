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

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

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
