package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func archive(b *bus.Bus) *session.Archive { return session.NewArchive(b.JS) }

func openKey(t testing.TB, s *session.Store, key session.Key) *talk {
	t.Helper()
	l, err := s.Open(t.Context(), "bot", key)
	if err != nil {
		t.Fatal(err)
	}
	return &talk{Log: l, t: t, store: s, at: epoch}
}

func events(t testing.TB, a *session.Archive, sid string) []run.Event {
	t.Helper()
	var list []run.Event
	for f, err := range a.History(t.Context(), "bot", sid, 1) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f.Event)
	}
	return list
}

// Sessions that went any way one can go, with tools, approvals, steering,
// summaries, failures and hosts that died, come out the same when they are
// replayed from NATS.
func TestReplayFromNATS(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	a := archive(b)
	for seed := range uint64(manyLogs) {
		key := session.DM("web", "", fmt.Sprint("person", seed))
		c := openKey(t, s, key)
		lim := run.Limits{ModelCalls: 6, Tools: 2, Keep: 2, Safe: func(tool string) bool { return tool == "b" }}
		r := rand.New(rand.NewPCG(seed, 3))
		if r.IntN(2) == 0 {
			lim.Window = 300
		}
		for n := range 60 {
			if r.IntN(25) == 0 { // the host dies
				c.Log = openKey(t, s, key).Log
				if left := c.State(); left.Run != nil && left.Phase != run.InSuspense { // as a host takes a run up
					c.sendWithin(run.Signal{Kind: run.Submit, Run: left.Run.ID, Attempt: max(left.Run.Attempt, 1) + 1}, lim)
				}
			}
			c.sendWithin(anySignal(r, c.State(), n), lim)
		}
		sid := session.SID("bot", key)
		log := events(t, a, sid)
		got, err := run.Replay(log)
		if err != nil {
			t.Fatalf("session %d: %v", seed, err)
		}
		stored, _, err := a.State(t.Context(), "bot", sid)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := encode(t, got), encode(t, stored); got != want {
			t.Fatalf("session %d:\n got %s\nwant %s", seed, got, want)
		}
	}
}

func (c *talk) sendWithin(sig run.Signal, lim run.Limits) {
	c.t.Helper()
	c.at = c.at.Add(1e9)
	sig.At = c.at
	for _, e := range c.Step(sig, lim) {
		if e.Kind == run.Commit {
			address(e.Events)
			if err := c.commit(e); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// anySignal is one that may or may not fit.
func anySignal(r *rand.Rand, s run.State, n int) run.Signal {
	call := "a"
	if s.Run != nil && len(s.Run.Calls) > 0 {
		call = s.Run.Calls[r.IntN(len(s.Run.Calls))].ID
	}
	switch r.IntN(11) {
	case 0, 1:
		sig := ask(fmt.Sprint("r", n), strings.Repeat("word ", 1+r.IntN(60)))
		sig.Join = r.IntN(2) == 0
		return sig
	case 2:
		if s.Run == nil {
			return ask(fmt.Sprint("r", n), "begin")
		}
		return run.Signal{Kind: run.Submit, Run: s.Run.ID, Attempt: max(s.Run.Attempt, 1) + 1}
	case 3:
		return run.Signal{Kind: run.Emission, Delta: llm.Delta{Text: "so "}}
	case 4:
		return run.Signal{Kind: run.StreamEnd, Called: []run.Event{{Provider: "p", Usage: &llm.Usage{Input: 40, Output: 9}, MS: 7}}}
	case 5, 6:
		return use([]string{"a", "b", "c"}[:1+r.IntN(3)]...)
	case 7:
		return done(call)
	case 8:
		return suspend(call)
	case 9:
		sig := answer(call, []string{run.Approve, run.Deny, "blue"}[r.IntN(3)])
		sig.Input = &run.Input{ID: fmt.Sprint("answer", n), Subject: []string{"plugin.inbound.web", "agent.route.bot"}[n%2]}
		return sig
	default:
		kind := []run.SignalKind{run.Abort, run.Fault, run.CompactEnd, run.CompactEnd}[r.IntN(4)]
		return run.Signal{Kind: kind, Summary: "they spoke", By: "ana", Error: &run.Error{Code: llm.CodeRunTimeout}}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	for n := range 5 {
		openKey(t, s, session.DM("web", "", fmt.Sprint(n))).turn()
	}
	c := openKey(t, s, session.DM("web", "", "1"))
	c.send(ask("r2", "go"))
	c.send(use("a"))
	c.send(suspend("a"))
	var keys []string
	page := session.Page{Agent: "bot", Limit: 2}
	for {
		list, err := archive(b).List(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list.Sessions {
			keys = append(keys, string(one.Key)+" "+one.State+" "+one.Title+strings.Join(one.For, ""))
		}
		if page.Before = list.After; list.After == 0 {
			break
		}
	}
	want := []string{
		"web/dm/1 waiting helloquestion", "web/dm/4 idle hello", "web/dm/3 idle hello", "web/dm/2 idle hello", "web/dm/0 idle hello",
	}
	if !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
}

// contested is a NATS on which a host commits to a session whenever its log is about to be
// replaced.
type contested struct {
	jetstream.JetStream
	key session.Key
}

func (n contested) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if _, err := n.Publish(ctx, m.Subject, fmt.Appendf(nil, `{"v":1,"key":%q}`, n.key)); err != nil {
		return nil, err
	}
	return n.JetStream.PublishMsg(ctx, m, opts...)
}

// What loses against its host all the time says that this works on the session.
func TestChangesOfABusySession(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	openTalk(t, s).turn()
	a, sid := session.NewArchive(contested{b.JS, ana}), session.SID("bot", ana)
	if _, err := a.Delete(t.Context(), "bot", sid, false); !errors.Is(err, session.ErrRunning) {
		t.Errorf("delete: got %v", err)
	}
	if _, err := a.Erase(t.Context(), "bot", sid); !errors.Is(err, session.ErrRunning) {
		t.Errorf("erase: got %v", err)
	}
	_, err := a.Rewrite(t.Context(), "bot", sid, same)
	if !errors.Is(err, session.ErrRunning) {
		t.Errorf("rewrite: got %v", err)
	}
}

// What is deleted is gone, what others need stays, and its owner starts over.
func TestDelete(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	s.Limit = 300 // every commit is too large for a message
	a := archive(b)
	sid := session.SID("bot", ana)
	owner := openTalk(t, s)
	for range 70 { // a snapshot
		owner.turn()
	}
	owner.send(ask("r99", "go"))
	owner.send(use("a"))
	if _, err := a.Delete(t.Context(), "bot", sid, false); !errors.Is(err, session.ErrRunning) {
		t.Fatalf("during a run: got %v", err)
	}
	owner.send(suspend("a"))
	other := session.DM("web", "", "bo")
	shared := give(t, b, other)
	for _, subject := range []string{"$KV." + bus.WaitingBucket + ".bot." + sid + ".x", "$KV." + bus.AllowedBucket + ".bot." + sid + ".y"} {
		put(t, b, subject, "{}")
	}
	d, err := a.Delete(t.Context(), "bot", sid, false)
	if err != nil {
		t.Fatal(err)
	}
	if d.Key != ana || d.Commits < 70 || d.Objects < 70 {
		t.Errorf("got %+v", d)
	}
	for _, subject := range []string{logSubject(), snapshotSubject()} {
		if _, err := s.Reader.Last(t.Context(), bus.SessionsStream, subject); !errors.Is(err, records.ErrNotFound) {
			t.Errorf("%s: got %v, want nothing", subject, err)
		}
	}
	for _, bucket := range []string{bus.WaitingBucket, bus.AllowedBucket} {
		kv, err := b.JS.KeyValue(t.Context(), bucket)
		if err != nil {
			t.Fatal(err)
		}
		if keys, err := kv.Keys(t.Context()); !errors.Is(err, jetstream.ErrNoKeysFound) {
			t.Errorf("%s has %v (%v)", bucket, keys, err)
		}
	}
	store, err := b.JS.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	left, err := store.List(t.Context())
	if err != nil || len(left) != 1 || left[0].Name != shared {
		t.Errorf("objects left: %v (%v), want the one that the other session names", left, err)
	}
	stale := owner.step(answer("a", "blue"))
	if err := owner.commit(stale[0]); !errors.Is(err, session.ErrFenced) {
		t.Errorf("its owner's commit: got %v, want %v", err, session.ErrFenced)
	}
	reopened := openTalk(t, s)
	if got, want := reopened.encoded(), `{"phase":"idle"}`; got != want {
		t.Errorf("opened again: got %s, want %s", got, want)
	}
}

// What an agent asked another for is under way: its message would never be answered.
func TestDeleteWhileAnotherAgentWorks(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	owner := openTalk(t, s)
	owner.send(ask("r1", "go"))
	owner.send(use("a"))
	owner.send(run.Signal{Kind: run.ToolSettled, Call: "a", Wait: &run.Wait{For: run.ForDelegate}})
	a, sid := archive(b), session.SID("bot", ana)
	if _, err := a.Delete(t.Context(), "bot", sid, false); !errors.Is(err, session.ErrRunning) {
		t.Errorf("got %v, want %v", err, session.ErrRunning)
	}
	if _, err := a.Delete(t.Context(), "bot", sid, true); err != nil {
		t.Errorf("no host works on it: got %v", err)
	}
}

// give gives another session an object, and returns its name.
func give(t *testing.T, b *bus.Bus, key session.Key) string {
	t.Helper()
	name, err := filestore.New(b.JS).Put(t.Context(), []byte("shared"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, session.Subject("bot", session.SID("bot", key)), `{"v":1,"key":"web/dm/bo","events":[{"type":"message","message":{"role":"user","parts":[{"type":"media","media":{"object":"`+name+`"}}]}}]}`)
	return name
}

// A snapshot that comes in late does not bring back what was deleted.
func TestLateSnapshotOfADeletedSession(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	owner := openTalk(t, s)
	owner.turn()
	rec, err := s.Reader.Last(t.Context(), bus.SessionsStream, logSubject())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archive(b).Delete(t.Context(), "bot", session.SID("bot", ana), false); err != nil {
		t.Fatal(err)
	}
	put(t, b, snapshotSubject(), fmt.Sprintf(`{"v":1,"key":%q,"seq":%d,"state":%s}`, ana, rec.Seq, owner.encoded()))
	reopened := openTalk(t, s)
	reopened.turn()
	if got := reopened.reopen().encoded(); got != reopened.encoded() {
		t.Errorf("got %s, want %s", got, reopened.encoded())
	}
}

func TestFork(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	a := archive(b)
	sid := session.SID("bot", ana)
	c := openTalk(t, s)
	c.turn()
	c.send(ask("r9", "go"))
	c.send(use("a"))
	if err := c.add(waiting("w1")); err != nil {
		t.Fatal(err)
	}
	made, err := a.Fork(t.Context(), session.Forking{Agent: "bot", SID: sid})
	if err != nil {
		t.Fatal(err)
	}
	if made.Key != ana+"~fork-1" || made.From != ana {
		t.Errorf("got %+v", made)
	}
	state, _, err := a.State(t.Context(), "bot", made.SID)
	if err != nil {
		t.Fatal(err)
	}
	if state.Run != nil || len(state.Waiting) > 0 || len(state.Messages) < 4 {
		t.Errorf("got %s, want all that was said, and rest", encode(t, state))
	}
	log := events(t, a, made.SID)
	if _, err := run.Replay(log); err != nil {
		t.Error(err)
	}
	for _, e := range log {
		if e.Reply != nil && e.Reply.Subject != "" {
			t.Errorf("a reply has the address %s", e.Reply.Subject)
		}
	}
	if _, ok := openKey(t, s, made.Key).Seen("in-r1"); ok {
		t.Error("what the first session has answered cannot be asked again")
	}
	again, err := a.Fork(t.Context(), session.Forking{Agent: "bot", SID: sid, At: session.Place{Seq: 1, N: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if again.Key != ana+"~fork-2" || again.Events < 2 {
		t.Errorf("got %+v", again)
	}
	if _, err := run.Replay(events(t, a, again.SID)); err != nil {
		t.Error(err)
	}
	_, err = a.Fork(t.Context(), session.Forking{Agent: "bot", SID: sid, To: made.Key})
	if !errors.Is(err, session.ErrTaken) {
		t.Errorf("got %v, want %v", err, session.ErrTaken)
	}
}

func TestFactsAreWrittenAsTheLogHasThem(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	put(t, b, logSubject(), `{"v":1,"key":"web/dm/ana","run":"r","events":[{"type":"new","later":[1, 2]},{}]}`)
	var got []string
	for f, err := range session.NewArchive(b.JS).History(t.Context(), "bot", session.SID("bot", ana), 1) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(data))
	}
	want := []string{`{"seq":1,"n":1,"of":"r","type":"new","later":[1,2]}`, `{"seq":1,"n":2,"of":"r"}`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for key, good := range map[session.Key]bool{
		"web/dm/ana": true, "telegram.sales/group/-100": true, "irc/group/a/b": true, "route/kate/c1": true, "schedule/x": true,
		"web/group/": true, "web/group//t": true, "route//c1": true, "route/group/c1": true, "schedule/dm/x": true,
		"": false, "web": false, "web/dm": false, "web/dm/": false, "/dm/x": false, "web/chat/x": false, "web/dm/a/b/c": false, "route/a/b/c": false,
		"web/group": false, "web/group/c/": false, "web/group/c/t/u": false, "route/a": false, "route/a/": false, "route/group/a/b": false,
		"schedule/": false, "event/": false, "schedule/a/b": false,
	} {
		if err := session.CheckKey(key); (err == nil) != good {
			t.Errorf("%q: got %v", key, err)
		}
	}
}

// Every key that a host makes is taken: a message has a channel and a sender at
// least, a task an id.
func TestCheckKeyTakesWhatIsMade(t *testing.T) {
	t.Parallel()
	ids := []string{"x", "a/b", "%", ".", " ", "\n", "é", "\xff", "route", "dm", "group", "schedule"}
	orNone := append([]string{""}, ids...)
	for _, a := range ids {
		keys := []session.Key{session.Schedule(a), session.Event(a)}
		for _, b := range orNone {
			keys = append(keys, session.Route(b, a))
			for _, c := range ids {
				keys = append(keys, session.DM(a, b, c))
			}
			for _, c := range orNone {
				for _, d := range orNone {
					keys = append(keys, session.Group(a, b, c, d))
				}
			}
		}
		for _, key := range keys {
			if err := session.CheckKey(key); err != nil {
				t.Error(err)
			}
		}
	}
}

// written is a NATS on which a host commits to a session while the newest of each are read.
type written struct {
	jetstream.JetStream
	keys []session.Key
}

func (n written) CreateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	cons, err := n.JetStream.CreateConsumer(ctx, stream, cfg)
	for _, key := range n.keys {
		if err == nil {
			_, err = n.Publish(ctx, session.Subject("bot", session.SID("bot", key)), fmt.Appendf(nil, `{"v":1,"key":%q}`, key))
		}
	}
	return cons, err
}

// A session that is written to while sessions are listed is listed once, by what was written last
// on the first page, and on a later one by what was written before that.
func TestListWhileSessionsAreWritten(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	var all, want []string
	for n := range 6 {
		key := session.DM("web", "", fmt.Sprint(n))
		openKey(t, s, key).turn()
		want = append(want, string(key))
	}
	busy := written{JetStream: b.JS, keys: []session.Key{session.DM("web", "", "1"), session.DM("web", "", "4")}}
	a, page := session.NewArchive(busy), session.Page{Agent: "bot", Limit: 4}
	for {
		list, err := a.List(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list.Sessions {
			all = append(all, string(one.Key))
		}
		if page.Before == 0 && !slices.Equal(all, []string{"web/dm/4", "web/dm/1", "web/dm/5", "web/dm/3"}) {
			t.Errorf("the first page is %q", all)
		}
		if page.Before = list.After; list.After == 0 {
			break
		}
	}
	slices.Sort(all)
	if !slices.Equal(all, want) {
		t.Errorf("listed %q, want %q", all, want)
	}
	keys, err := a.Of(t.Context(), "bot", "4")
	if err != nil || len(keys) != 1 {
		t.Errorf("the conversations of a person are %q, %v; want one", keys, err)
	}
}
