package erase_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"
	"agenthost/internal/erase"
	"agenthost/internal/erasure"
	"agenthost/internal/pause"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// noHosts is a fleet of which no host runs.
type noHosts struct{}

func (noHosts) Runs(context.Context) (bool, error)              { return false, nil }
func (noHosts) Stop(context.Context, string, session.Key) error { return erase.ErrUnserved }

func (noHosts) Erase(context.Context, erasure.Order) ([]string, bool, error) { return nil, true, nil }
func (noHosts) Dropped(context.Context, session.Deletion) error              { return nil }

type world struct {
	*testing.T
	js jetstream.JetStream
}

func newWorld(t *testing.T) *world {
	t.Helper()
	b := bustest.Open(t)
	if err := streams.Provision(t.Context(), b.JS, 1, 4, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	return &world{t, b.JS}
}

// put stores each "subject payload".
func (w *world) put(messages ...string) {
	w.Helper()
	for _, one := range messages {
		subject, data, _ := strings.Cut(one, " ")
		if _, err := w.js.PublishMsg(w.Context(), &nats.Msg{Subject: subject, Data: []byte(data)}); err != nil {
			w.Fatalf("%s: %v", subject, err)
		}
	}
}

// left are the subjects of all that is stored, but for what says that an entry was deleted
// whose key has nothing of a person in words.
func (w *world) left() (subjects []string, all []byte) {
	w.Helper()
	for _, info := range bustest.Streams(w, w.js) {
		for _, msg := range bustest.Stored(w, w.js, info) {
			if !deletion(msg) {
				header, _ := json.Marshal(msg.Header)
				subjects = append(subjects, msg.Subject)
				all = fmt.Appendf(all, "%s %s %s\n", msg.Subject, msg.Data, header)
			}
		}
	}
	slices.Sort(subjects)
	return subjects, all
}

func deletion(msg *jetstream.RawStreamMsg) bool {
	bucket := strings.Split(msg.Subject, ".")[1]
	return msg.Header.Get("KV-Operation") != "" && slices.Contains([]string{bus.WaitingBucket, bus.AllowedBucket, bus.MemoryBucket, bus.SchedulesBucket, bus.LanesBucket}, bucket)
}

func (w *world) erase(peer, agent string) (erase.Report, error) {
	w.Helper()
	person, err := erasure.ParsePerson(peer)
	if err != nil {
		w.Fatal(err)
	}
	return erase.Run(w.Context(), w.js, noHosts{}, erase.Options{Person: person, Agent: agent})
}

func note(place, name string) string {
	return "$KV.AGENT_CHANNELS." + place + ".channel." + base64.RawURLEncoding.EncodeToString([]byte(name)) + "_ 17"
}

const secret = "my sister lives in Turku"

// zoesAndOthers is what hosts keep beside sessions, of Zoë and of others whose things look alike.
func zoesAndOthers() (theirs, others []string) {
	sid := session.SID("ana", "irc.x/zoe-1")
	dm := session.SID("ana", "irc.x/dm/zoe-1")
	theirs = []string{
		`plugin.inbound.irc.x {"from":"zoe-1","name":"Zoë","text":"` + secret + `"}`,
		`plugin.outbound.irc.x {"agent":"ana","session":"irc.x/dm/zoe-1","to":"zoe-1","text":"x"}`,
		`agent.route.bob {"kind":"delegate","from":"ana","text":"Look up: ` + secret + `"}`,
		`agent.route.bob {"kind":"result","from":"ana","correlation_id":"ana.` + dm + `.abc","text":"x"}`,
		`agent.events.ana.budget {"agent":"ana","span":"peer_day","peer":"irc.x/zoe-1"}`,
		`agent.events.ana.duplicate_id {"agent":"ana","session":"irc.x/dm/zoe-1"}`,
		`agent.dead.ana {"agent":"ana","subject":"plugin.inbound.irc.x","payload":"{\"from\":\"zoe-1\",\"text\":5}"}`,
		`agent.dead.ana {"agent":"ana","subject":"plugin.inbound.irc.x","payload":"{\"from\":\"zoe-1"}`,
		`agent.snapshot.ana.` + dm + ` {"v":1,"key":"irc.x/dm/zoe-1","seq":7}`,
		`$KV.AGENT_SPEND.ana.2026-11-24.` + sid + ` {"spent":5}`,
		`$KV.AGENT_SPEND.ana.2026-11-24.alert.peer_day-50.` + sid + ` {}`,
		`$KV.AGENT_ALLOWED.ana.all.x {"id":"ana.all.x","agent":"ana","what":"write_file","by":"zoe-1"}`,
		`$KV.AGENT_ALLOWED.ana.` + dm + `.x {"id":"x","agent":"ana","session":"irc.x/dm/zoe-1","by":"bo"}`,
		`$KV.AGENT_WAITING.ana.` + dm + `.x {"id":"x","agent":"ana","session":"irc.x/dm/zoe-1","prompt":"ok?"}`,
		`$KV.AGENT_MEMORY.ana._.a {"agent":"ana","text":"Zoë is in room 5"}`,
		`$KV.AGENT_MEMORY.ana.abc.b {"agent":"ana","peer":"irc.x/dm/bo","text":"She said: ` + secret + `"}`,
		`$KV.AGENT_PAIRINGS.paired.ana.` + dm + ` {"agent":"ana","channel":"irc","instance":"x","from":"zoe-1","approved":true}`,
		`$KV.AGENT_CHANNELS.irc.x.preview.ab {"chat":"zoe-1\u0000","agent":"ana","id":"1"}`,
		`$KV.AGENT_CHANNELS.irc.x.preview.ac {"chat":"zoe-1\u00007","agent":"ana","id":"2"}`,
		note("irc.x", "direct zoe-1"),
		`$KV.AGENT_REQUESTS.deleted.ana.` + dm + ` {"reached":{"AGENT_INBOUND":5}}`,
		`$KV.AGENT_SCHEDULES.ana.remind-1 {"agent":"ana","name":"remind-1","source":"reminder","prompt":"x","origin":{"session":"irc.x/dm/zoe-1","subject":"plugin.outbound.irc.x","to":"zoe-1"}}`,
	}
	others = []string{
		`plugin.inbound.irc.y {"from":"zoe-1","text":"somebody else"}`,
		`plugin.inbound.irc.x {"from":"zoe-12","text":"hi"}`,
		`plugin.outbound.irc.x {"agent":"ana","session":"irc.x/dm/bo","to":"bo","text":"x"}`,
		`agent.route.bob {"kind":"delegate","from":"zoe-1","text":"an agent of that name"}`,
		`agent.events.ana.started {"agent":"ana"}`,
		`agent.dead.ana {"agent":"ana","subject":"plugin.inbound.irc.x","payload":"{\"from\":\"bo"}`,
		`$KV.AGENT_SPEND.ana.2026-11-24 {"spent":5}`,
		`$KV.AGENT_SPEND.ana.2026-11-24.` + session.SID("ana", "irc.y/zoe-1") + ` {"spent":5}`,
		`$KV.AGENT_ALLOWED.ana.all.y {"id":"ana.all.y","agent":"ana","what":"write_file","by":"bo"}`,
		`$KV.AGENT_WAITING.ana.xyz.y {"id":"y","agent":"ana","session":"irc.x/dm/bo","kind":"delegate","to":"zoe-1"}`,
		`$KV.AGENT_MEMORY.ana._.c {"agent":"ana","text":"Zoëlle is in room 6"}`,
		`$KV.AGENT_MEMORY.ana.abc.d {"agent":"ana","peer":"irc.x/dm/bo","text":"Zoë is my wife"}`,
		`$KV.AGENT_PAIRINGS.paired.ana.bo {"agent":"ana","channel":"irc","instance":"y","from":"zoe-1","approved":true}`,
		`$KV.AGENT_CHANNELS.irc.x.preview.ad {"chat":"zoe-12\u0000","agent":"ana","id":"3"}`,
		`$KV.AGENT_CHANNELS.irc.x.preview.ae {"chat":"bo\u0000zoe-1","agent":"ana","id":"4"}`,
		note("irc.x", "direct zoe-12"),
		note("irc.y", "direct zoe-1"),
		`$KV.AGENT_REQUESTS.deleted.ana.` + session.SID("ana", "irc.y/dm/zoe-1") + ` {"reached":{"AGENT_INBOUND":5}}`,
		`$KV.AGENT_SCHEDULES.ana.morning {"agent":"ana","name":"morning","source":"config","prompt":"x","origin":{"subject":"plugin.outbound.irc.x","to":"zoe-1"}}`,
		`agent.schedule.ana.morning {"kind":"schedule","from":"morning","text":"x","origin":{"subject":"plugin.outbound.irc.x","to":"zoe-1"}}`,
	}
	return theirs, others
}

func TestRunWithoutSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sid := session.SID("ana", "irc.x/zoe-1")
	dm := session.SID("ana", "irc.x/dm/zoe-1")
	theirs, others := zoesAndOthers()
	w.put(others...)
	want, _ := w.left()
	w.put(theirs...)
	w.put(
		`agent.audit.abort {"action":"abort","by":"cli:kate","door":"cli","agent":"ana","session":"irc.x/dm/zoe-1","detail":"she asked"}`,
		`agent.audit.approve {"action":"approve","by":"zoe-1","door":"plugin.inbound.irc.x","agent":"ana","session":"irc.x/group/1"}`,
	)
	want = append(want, "agent.audit.abort", "agent.audit.approve")
	slices.Sort(want)
	report, err := w.erase("irc.x/zoe-1", "")
	if err != nil {
		t.Fatal(err)
	}
	got, all := w.left()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is left: %s", diff)
	}
	for _, gone := range []string{secret, `"irc.x/dm/zoe-1"`, "she asked", sid, dm} {
		if bytes.Contains(all, []byte(gone)) {
			t.Errorf("%q is left in %s", gone, all)
		}
	}
	for _, stays := range []string{`"by":"cli:kate"`, `"session":"irc.x/group/1"`, `"by":"[erased]"`} {
		if !bytes.Contains(all, []byte(stays)) {
			t.Errorf("%q is gone", stays)
		}
	}
	if len(report.Kept) != 1 || !strings.Contains(report.Kept[0], "schedule morning of ana") {
		t.Errorf("stays: got %q", report.Kept)
	}
	if diff := cmp.Diff([]string{"irc.x/zoe-1"}, report.Found); diff != "" {
		t.Errorf("found: %s", diff)
	}
	if again, err := w.erase("irc.x/zoe-1", ""); err != nil || again.Total() != 0 {
		t.Errorf("again: got %v, %v", again.Counts, err)
	}
}

// The journal of an erasure that was killed while it wrote it is no object: it goes with the next
// erasure of the same person.
func TestRunDeletesABegunJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(
		`$O.AGENT_FILES.C.a {"person":"irc.x/zoe-1","agent":"","words":["`+secret+` `, `$O.AGENT_FILES.C.b {"person":"irc.x/bo","agent":"","words":[]}`,
		`$O.AGENT_FILES.C.c a chunk of another file`, `$O.AGENT_FILES.C.a and more"]}`,
	)
	if _, err := w.erase("irc.x/zoe-1", ""); err != nil {
		t.Fatal(err)
	}
	if subjects, _ := w.left(); !slices.Equal(subjects, []string{"$O.AGENT_FILES.C.b", "$O.AGENT_FILES.C.c"}) {
		t.Errorf("left: %q", subjects)
	}
}

// What a NATS server has when it is killed has nothing of the person, however often it was
// written and deleted before.
func TestRunHoldsWhenNATSIsKilled(t *testing.T) {
	t.Parallel()
	cfg := bustest.Config(t)
	cfg.Embedded.Sync = "always"
	w := &world{t, bustest.OpenConfig(t, cfg).JS}
	bustest.Provision(t, w.js)
	sid := session.SID("ana", "irc.x/dm/zoe-1")
	entries := map[string]string{
		bus.AllowedBucket + " ana." + sid + ".a": `{"id":"a","agent":"ana","session":"irc.x/dm/zoe-1","by":"zoe-1"}`,
		bus.WaitingBucket + " ana." + sid + ".b": `{"id":"b","agent":"ana","session":"irc.x/dm/zoe-1"}`,
		bus.MemoryBucket + " ana.abc.c":          `{"agent":"ana","peer":"irc.x/dm/zoe-1","text":"` + secret + `"}`,
		bus.ChannelsBucket + " irc.x.channel." + base64.RawURLEncoding.EncodeToString([]byte("direct zoe-1")) + "_": "17",
	}
	others := []string{
		`$KV.AGENT_ALLOWED.ana.all.y {"id":"ana.all.y","agent":"ana","by":"bo"}`, `$KV.AGENT_WAITING.ana.xyz.y {"id":"y","agent":"ana","session":"irc.x/dm/bo"}`,
		`$KV.AGENT_MEMORY.ana._.c {"agent":"ana","text":"room 6"}`, note("irc.x", "direct zoe-12"),
	}
	w.put(others...)
	for name, value := range entries {
		bucket, key, _ := strings.Cut(name, " ")
		kv, err := w.js.KeyValue(t.Context(), bucket)
		if err != nil {
			t.Fatal(err)
		}
		writes := 2
		if bucket == bus.ChannelsBucket {
			writes = 1
		}
		for range writes {
			if _, err := kv.PutString(t.Context(), key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	revoked, answered := bus.AllowedBucket+" ana."+sid+".r", bus.WaitingBucket+" ana."+sid+".w"
	for _, name := range []string{revoked, answered} {
		bucket, key, _ := strings.Cut(name, " ")
		kv, err := w.js.KeyValue(t.Context(), bucket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kv.PutString(t.Context(), key, `{"agent":"ana","session":"irc.x/dm/zoe-1"}`); err != nil {
			t.Fatal(err)
		}
		if err := kv.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	w.put(`agent.session.ana.` + sid + ` {"v":1,"key":"irc.x/dm/zoe-1"}`)
	if _, err := w.erase("irc.x/zoe-1", ""); err != nil {
		t.Fatal(err)
	}

	after := bustest.Config(t)
	if err := os.CopyFS(after.Embedded.Store, os.DirFS(cfg.Embedded.Store)); err != nil { // as it is now, without a good end
		t.Fatal(err)
	}
	again := &world{t, bustest.OpenConfig(t, after).JS}
	if left, all := again.left(); len(left) != len(others) {
		t.Errorf("left: %s", all)
	}
}

// What was answered, revoked or forgotten before the erasure is in no file of the store after it,
// nor what the erasure has deleted.
func TestRunLeavesNoBytesOfEntries(t *testing.T) {
	t.Parallel()
	cfg := bustest.Config(t)
	w := &world{t, bustest.OpenConfig(t, cfg).JS}
	bustest.Provision(t, w.js)
	sid := session.SID("ana", "irc.x/dm/zoe-1")
	w.put(`agent.session.ana.` + sid + ` {"v":1,"key":"irc.x/dm/zoe-1"}`)
	others := session.SID("ana", "irc.x/dm/bo")
	keys := map[string]string{
		bus.WaitingBucket: "ana." + others + ".", bus.AllowedBucket: "ana." + others + ".", bus.MemoryBucket: "ana.abc.",
		bus.SchedulesBucket: "ana.", bus.RequestsBucket: "ana.", bus.PairingsBucket: "ana.",
	}
	for bucket, key := range keys {
		kv, err := w.js.KeyValue(t.Context(), bucket)
		if err != nil {
			t.Fatal(err)
		}
		put := func(name, text string) {
			if _, err := kv.PutString(t.Context(), key+name, `{"agent":"ana","session":"irc.x/dm/bo","text":"`+text+`"}`); err != nil {
				t.Fatal(err)
			}
		}
		put("first", "of others, in "+bucket)
		put("deleted", secret)
		put("replaced", secret)
		put("replaced", "of others, in "+bucket)
		if err := kv.Delete(t.Context(), key+"deleted"); err != nil {
			t.Fatal(err)
		}
		put("last", "of others, in "+bucket)
	}
	kv, err := w.js.KeyValue(t.Context(), bus.WaitingBucket)
	if err == nil {
		_, err = kv.PutString(t.Context(), "ana."+sid+".open", `{"id":"open","agent":"ana","session":"irc.x/dm/zoe-1","prompt":"`+secret+`"}`)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.put(`$KV.AGENT_LANES.lane.a {"host":"red"}`)
	pauses := pause.NewStore(w.js)
	for _, reason := range []string{"she wrote: " + secret, "a test"} {
		if _, err := pauses.Begin(t.Context(), pause.Pause{Target: pause.Target{Agent: "bob"}, Reason: reason}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pauses.Begin(t.Context(), pause.Pause{Target: pause.Target{Agent: "cleo"}, Reason: secret}); err != nil {
		t.Fatal(err)
	}
	if err := pauses.End(t.Context(), pause.Target{Agent: "cleo"}); err != nil {
		t.Fatal(err)
	}
	alone := base64.RawURLEncoding.EncodeToString([]byte("direct zoe-1")) // in a bucket that has nothing else
	w.put(note("irc.x", "direct zoe-1"))
	if found := filesWith(t, cfg.Embedded.Store, secret); len(found) < len(keys) {
		t.Fatalf("it is in %q before", found)
	}
	if _, err := w.erase("irc.x/zoe-1", ""); err != nil {
		t.Fatal(err)
	}
	if found := slices.Concat(filesWith(t, cfg.Embedded.Store, secret), filesWith(t, cfg.Embedded.Store, alone)); len(found) > 0 {
		t.Errorf("it is still in %q", found)
	}
	for bucket, key := range keys {
		kv, err := w.js.KeyValue(t.Context(), bucket)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"first", "replaced", "last"} {
			if entry, err := kv.Get(t.Context(), key+name); err != nil || !bytes.Contains(entry.Value(), []byte("of others")) {
				t.Errorf("%s of %s: %v", name, bucket, err)
			}
		}
		s, err := w.js.Stream(t.Context(), "KV_"+bucket)
		if err != nil {
			t.Fatal(err)
		}
		if size := s.CachedInfo().State.Bytes; size > 4096 {
			t.Errorf("bucket %s has %d bytes", bucket, size)
		}
	}
	if list, err := pauses.List(t.Context()); err != nil || len(list) != 1 || list[0].Reason != "a test" {
		t.Errorf("pauses: %+v, %v", list, err)
	}
}

// An operator may have quoted a person as the reason of a pause. It holds on without those words.
func TestRunTakesWordsOutOfPauses(t *testing.T) {
	t.Parallel()
	const quote = "They wrote: " + secret
	for _, tt := range []struct {
		agent string
		want  map[string]string // reasons
	}{
		{"", map[string]string{"agent ana": "They wrote: [erased]", "channel irc.x": "[erased]", "all agents": "repairs"}},
		{"ana", map[string]string{"agent ana": "They wrote: [erased]", "channel irc.x": secret, "all agents": "repairs"}},
	} {
		t.Run(tt.agent, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put(`plugin.inbound.irc.x {"from":"zoe-1","text":"` + secret + `","agent":"ana"}`)
			store := pause.NewStore(w.js)
			since := map[string]time.Time{}
			for _, p := range []pause.Pause{
				{Target: pause.Target{Agent: "ana"}, By: "cli:kate", Reason: quote},
				{Target: pause.Target{Channel: "irc.x"}, By: "cli:kate", Reason: secret},
				{Target: pause.Target{All: true}, By: "cli:kate", Reason: "repairs"},
			} {
				p, err := store.Begin(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				since[p.String()] = p.Since
			}
			report, err := w.erase("irc.x/zoe-1", tt.agent)
			if err != nil {
				t.Fatal(err)
			}
			list, err := store.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, changed := map[string]string{}, 0
			for _, p := range list {
				got[p.String()] = p.Reason
				if strings.Contains(p.Reason, erase.Erased) {
					changed++
				}
				if p.By != "cli:kate" || !p.Since.Equal(since[p.String()]) {
					t.Errorf("it is another pause now: %+v", p)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			if report.Counts[erase.Pauses] != changed {
				t.Errorf("%d were changed, and the report says %v", changed, report.Counts)
			}
		})
	}
}

// filesWith are the files below a folder that have a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(os.DirFS(dir), path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A reply in a group that is not delivered yet is for the others too.
func TestRunLeavesWhatIsNotDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	consumer, err := w.js.CreateConsumer(t.Context(), bus.OutboundStream, jetstream.ConsumerConfig{
		Durable: "plugin-irc", FilterSubject: "plugin.outbound.irc", AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.put(
		`plugin.inbound.irc {"from":"zoe-1","text":"`+secret+`"}`,
		`plugin.outbound.irc {"agent":"ana","session":"irc/group/1","to":"bo","text":"She said: `+secret+`"}`,
	)
	report, err := w.erase("zoe-1", "")
	if !errors.Is(err, erase.ErrBusy) || len(report.Kept) != 1 {
		t.Errorf("got %+v, %v, want %v", report, err, erase.ErrBusy)
	}
	msg, err := consumer.Next()
	if err != nil || !bytes.Contains(msg.Data(), []byte(secret)) {
		t.Fatalf("it is not delivered: %v", err)
	}
	if err := msg.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Her message is gone by now; what it said is known from the journal.
	if report, err = w.erase("zoe-1", ""); err != nil || report.Counts[erase.Outbound] != 1 {
		t.Errorf("got %+v, %v", report, err)
	}
	if left, all := w.left(); len(left) != 0 {
		t.Errorf("left: %s", all)
	}
}

// hosts is a fleet of which a host runs.
type hosts struct{ noHosts }

func (hosts) Runs(context.Context) (bool, error)              { return true, nil }
func (hosts) Stop(context.Context, string, session.Key) error { return nil }

// contested is a NATS on which a host commits to a session whenever its log is about to be
// replaced, a number of times.
type contested struct {
	jetstream.JetStream
	left map[string]int // by subject
}

func (c contested) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if m.Header.Get("Agent-Replaces") != "" && c.left[m.Subject] > 0 {
		c.left[m.Subject]--
		key := "irc.x/dm/zoe-1"
		if strings.HasSuffix(m.Subject, session.SID("ana", groupKey)) {
			key = groupKey
		}
		if _, err := c.Publish(ctx, m.Subject, []byte(`{"v":1,"key":"`+key+`"}`)); err != nil {
			return nil, err
		}
	}
	return c.JetStream.PublishMsg(ctx, m, opts...)
}

const groupKey = "irc.x/group/-5"

// A session that its host goes on with is erased as soon as it rests.
func TestRunWaitsForASessionAtWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dm, group := "agent.session.ana."+session.SID("ana", "irc.x/dm/zoe-1"), "agent.session.ana."+session.SID("ana", groupKey)
	w.put(
		dm+` {"v":1,"key":"irc.x/dm/zoe-1"}`,
		group+` {"v":1,"key":"`+groupKey+`","events":[{"type":"run.started","run":"r1","trigger":"message","inputs":[{"id":"1","subject":"plugin.inbound.irc.x","seq":1,"envelope":{"from":"zoe-1","text":"`+secret+`","chat":"-5","group":true}}]},{"type":"run.finished","run":"r1","reason":"done"}]}`,
	)
	js := contested{w.js, map[string]int{dm: 7, group: 7}}
	person, err := erasure.ParsePerson("irc.x/zoe-1")
	if err != nil {
		t.Fatal(err)
	}
	report, err := erase.Run(t.Context(), js, hosts{}, erase.Options{Person: person})
	if err != nil || report.Counts[erase.Sessions] != 1 || report.Counts[erase.Groups] != 1 || js.left[dm]+js.left[group] != 0 {
		t.Errorf("got %+v, %v; left to commit: %v", report, err, js.left)
	}
	if _, all := w.left(); bytes.Contains(all, []byte(secret)) {
		t.Errorf("left: %s", all)
	}
}

// begun is a fleet in which something happens once while sessions are erased.
type begun struct {
	hosts
	once func()
}

func (f begun) Dropped(context.Context, session.Deletion) error { f.once(); return nil }

// A group that has only a snapshot left may get new messages meanwhile: those of others stay.
func TestRunKeepsNewMessagesOfAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := session.SID("ana", groupKey)
	w.put(
		`agent.session.aaa.`+session.SID("aaa", "irc.x/dm/zoe-1")+` {"v":1,"key":"irc.x/dm/zoe-1","events":[{"type":"run.started","run":"r1","trigger":"message","inputs":[{"id":"1","subject":"plugin.inbound.irc.x","seq":1,"envelope":{"from":"zoe-1","text":"`+secret+`"}}]},{"type":"run.finished","run":"r1","reason":"done"}]}`,
		`agent.snapshot.ana.`+group+` {"v":1,"key":"`+groupKey+`","seq":7,"state":{"messages":[{"role":"user","parts":[{"type":"text","text":"`+secret+`"}]}]}}`,
	)
	fleet := begun{once: sync.OnceFunc(func() {
		w.put(`agent.session.ana.` + group + ` {"v":1,"key":"` + groupKey + `","events":[{"type":"run.started","run":"r2","trigger":"message","inputs":[{"id":"2","subject":"plugin.inbound.irc.x","seq":2,"envelope":{"from":"ben","text":"the party is on Friday","chat":"-5","group":true}}]},{"type":"run.finished","run":"r2","reason":"done"}]}`)
	})}
	person, err := erasure.ParsePerson("irc.x/zoe-1")
	if err != nil {
		t.Fatal(err)
	}
	report, err := erase.Run(t.Context(), w.js, fleet, erase.Options{Person: person})
	if err != nil {
		t.Errorf("got %+v, %v", report, err)
	}
	if _, all := w.left(); bytes.Contains(all, []byte(secret)) || !bytes.Contains(all, []byte("Friday")) {
		t.Errorf("left: %s", all)
	}
}

// A session that accounts share has ids that name the account of a message, also a short one.
func TestRunErasesAccountsInIDs(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"zoe-1", "42"} {
		w := newWorld(t)
		shared := "agent.session.ana." + session.SID("ana", "irc.y/dm/zoe")
		w.put(
			shared+` {"v":1,"key":"irc.y/dm/zoe","events":[{"type":"run.started","run":"r1","trigger":"message","inputs":[{"id":"17","subject":"plugin.inbound.irc.y","seq":1,"envelope":{"from":"zoe","text":"of another account"}}]},{"type":"run.finished","run":"r1","outcome":"settled"}]}`,
			shared+` {"v":1,"key":"irc.y/dm/zoe","events":[{"type":"run.started","run":"r2","trigger":"message","inputs":[{"id":"irc.x/dm/`+from+`:17","sent":"17","subject":"plugin.inbound.irc.x","seq":2,"envelope":{"from":"`+from+`","text":"`+secret+`"}}]},{"type":"run.finished","run":"r2","outcome":"settled"}]}`,
			shared+` {"v":1,"key":"irc.y/dm/zoe","events":[{"type":"input.withdrawn","input":{"id":"irc.x/dm/`+from+`:18","sent":"18","subject":"plugin.inbound.irc.x","seq":3}}]}`,
		)
		report, err := w.erase("irc.x/"+from, "")
		if err != nil {
			t.Errorf("%s: %+v, %v", from, report, err)
		}
		if _, all := w.left(); bytes.Contains(all, []byte("dm/"+from+":")) || bytes.Contains(all, []byte(secret)) || !bytes.Contains(all, []byte("of another account")) {
			t.Errorf("%s: left %s", from, all)
		}
	}
}

// The sender of a message that no host can read is the one that a host answers: field names
// count as they are written.
func TestRunReadsTheSenderExactly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(
		`plugin.inbound.irc.x {"id":"1","from":"zoe-1","FROM":"ben","text":{"said":"`+secret+`"}}`,
		`agent.dead.ana {"agent":"ana","subject":"plugin.inbound.irc.x","payload":"{\"id\":\"1\",\"from\":\"zoe-1\",\"FROM\":\"ben\",\"text\":{\"said\":\"`+secret+`\"}}"}`,
		`plugin.inbound.irc.x {"id":"2","from":"ben","FROM":"zoe-1","text":{"said":"of ben"}}`,
		`plugin.inbound.irc.x {"id":"3","from":"zoe-1","text":"`+secret+`",`,
		`plugin.inbound.irc.x {"id":"4","from":"ben","text":"of ben"} x`,
	)
	report, err := w.erase("irc.x/zoe-1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, all := w.left(); bytes.Contains(all, []byte(secret)) || !bytes.Contains(all, []byte("of ben")) {
		t.Errorf("%+v; left: %s", report, all)
	}
}

// What others have asked for in the same words is done all the same.
func TestRunLeavesWhatOthersWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lanes := map[string]jetstream.Consumer{}
	for stream, subject := range map[string]string{bus.RoutesStream: "agent.route.*", bus.SchedulesStream: "agent.due.*"} {
		lane, err := w.js.CreateConsumer(t.Context(), stream, jetstream.ConsumerConfig{
			Durable: "lane-00", FilterSubject: subject, AckPolicy: jetstream.AckExplicitPolicy,
		})
		if err != nil {
			t.Fatal(err)
		}
		lanes[stream] = lane
	}
	const (
		hers = `"origin":{"agent":"ana","session":"irc/dm/zoe-1","subject":"plugin.outbound.irc","to":"zoe-1"}`
		his  = `"origin":{"agent":"ana","session":"irc/dm/bo","subject":"plugin.outbound.irc","to":"bo"}`
	)
	w.put(
		`plugin.inbound.irc {"from":"zoe-1","text":"`+secret+`"}`,
		`agent.route.bob {"kind":"delegate","from":"ana","correlation_id":"c1","text":"`+secret+`",`+his+`}`,
		`agent.route.bob {"kind":"delegate","from":"ana","correlation_id":"c2","text":"`+secret+`",`+hers+`}`,
		`agent.due.ana {"kind":"schedule","from":"remind-0","text":"Remind of this: `+secret+`",`+his+`}`,
		`agent.due.ana {"kind":"schedule","from":"remind-9","text":"Remind of this: `+secret+`",`+hers+`}`,
		`$KV.AGENT_SCHEDULES.ana.remind-1 {"agent":"ana","name":"remind-1","source":"reminder","prompt":"Tell: `+secret+`",`+his+`}`,
		`$KV.AGENT_SCHEDULES.ana.remind-2 {"agent":"ana","name":"remind-2","source":"reminder","prompt":"`+secret+`",`+hers+`}`,
		`agent.schedule.ana.remind-1 {"kind":"schedule","from":"remind-1","text":"Remind of this: `+secret+`",`+his+`}`,
		`agent.schedule.ana.remind-2 {"kind":"schedule","from":"remind-2","text":"Remind of this: `+secret+`",`+hers+`}`,
	)
	if _, err := w.erase("zoe-1", ""); !errors.Is(err, erase.ErrBusy) {
		t.Errorf("got %v, want %v", err, erase.ErrBusy)
	}
	for stream, lane := range lanes {
		msg, err := lane.Next()
		if err != nil || !bytes.Contains(msg.Data(), []byte(secret)) || !bytes.Contains(msg.Data(), []byte(`"irc/dm/bo"`)) {
			t.Fatalf("%s: his does not arrive: %v", stream, err)
		}
		if err := msg.DoubleAck(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	kv, err := w.js.KeyValue(t.Context(), bus.SchedulesBucket)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := kv.Get(t.Context(), "ana.remind-1")
	if err != nil || !bytes.Contains(entry.Value(), []byte(`"prompt":"Tell: [erased]"`)) {
		t.Errorf("his reminder: got %v, %v", entry, err)
	}
	if _, err := w.erase("zoe-1", ""); err != nil {
		t.Fatal(err)
	}
	left, all := w.left()
	if diff := cmp.Diff([]string{"$KV.AGENT_SCHEDULES.ana.remind-1"}, left); diff != "" || bytes.Contains(all, []byte(secret)) {
		t.Errorf("what is left: %s", all)
	}
}

// mute is a fleet with a host that does not answer.
type mute struct{ hosts }

func (mute) Erase(context.Context, erasure.Order) ([]string, bool, error) {
	return []string{"red"}, true, nil
}

// What a host has in memory that does not answer may be stored again: that is said, and the
// erasure is not over.
func TestRunNamesAHostThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(`plugin.inbound.irc.x {"from":"zoe-1","text":"` + secret + `"}`)
	person := erasure.Person{Place: "irc.x", From: "zoe-1"}
	report, err := erase.Run(t.Context(), w.js, mute{}, erase.Options{Person: person})
	if !errors.Is(err, erase.ErrBusy) || report.Counts[erase.Inbound] != 1 || len(report.Kept) != 1 || !strings.Contains(report.Kept[0], "host red holds in memory") {
		t.Errorf("got %+v, %v", report, err)
	}
	if report, err = erase.Run(t.Context(), w.js, hosts{}, erase.Options{Person: person}); err != nil || len(report.Kept) != 0 {
		t.Errorf("once it has ended: got %+v, %v", report, err)
	}
	if left, all := w.left(); len(left) != 0 {
		t.Errorf("left: %s", all)
	}
}

// What was sent by route is of who has sent it, and tasks of agents are not: those may be called
// alike.
func TestRunErasesWhatWasSentByRoute(t *testing.T) {
	t.Parallel()
	for _, peer := range []string{"bea", "route/bea", "route/program:bea"} {
		t.Run(peer, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			task := "bea." + session.SID("bea", "irc.x/dm/kim") + ".abc"
			log := func(from, id, text string) string {
				key := session.Route(from, id)
				return `agent.session.bob.` + session.SID("bob", key) + ` {"v":1,"key":"` + string(key) + `","events":[{"type":"run.started","run":"r1","trigger":"delegate","inputs":[{"id":"1","subject":"agent.route.bob","seq":1,"envelope":{"kind":"delegate","from":"` + from + `","correlation_id":"` + id + `","text":"` + text + `"}}]},{"type":"run.finished","run":"r1","reason":"done"}]}`
			}
			w.put(
				`agent.route.bob {"kind":"delegate","from":"bea","correlation_id":"`+task+`","text":"a task of an agent"}`,
				`agent.route.bob {"kind":"delegate","from":"beate","correlation_id":"c1","text":"of another"}`,
				log("bea", task, "a task of an agent"), log("beate", "c1", "of another"),
				`$KV.AGENT_MEMORY.bob._.a {"agent":"bob","text":"room 5"}`,
			)
			want, _ := w.left()
			w.put(
				`agent.route.bob {"kind":"delegate","from":"bea","correlation_id":"c1","text":"`+secret+`"}`,
				`agent.route.bob {"from":"bea","text":"`+secret+`"}`,
				`agent.part.bob.1 {"kind":"delegate","from":"bea","correlation_id":"c1","text":"`+secret+`"}`,
				log("bea", "c1", secret), log("program:bea", "c2", "and more"),
				`agent.session.bob.`+session.SID("bob", "event/bea")+` {"v":1,"key":"event/bea"}`,
				`$KV.AGENT_MEMORY.bob._.b {"agent":"bob","text":"They said: `+secret+`"}`,
				`agent.dead.bob {"agent":"bob","subject":"agent.route.bob","payload":"{\"kind\":\"delegate\",\"from\":\"bea\",\"text\":5}"}`,
			)
			report, err := w.erase(peer, "")
			if err != nil {
				t.Fatal(err)
			}
			got, all := w.left()
			if diff := cmp.Diff(want, got); diff != "" || bytes.Contains(all, []byte(secret)) {
				t.Errorf("what is left: %s\n%s", diff, all)
			}
			if len(report.Found) != 1 || !strings.HasPrefix(report.Found[0], "route/") {
				t.Errorf("found: %q", report.Found)
			}
		})
	}
}
