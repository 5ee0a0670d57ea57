package pairing_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus/bustest"
	"agenthost/internal/pairing"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go/jetstream"
)

func stranger(from string) pairing.Pairing {
	return pairing.Pairing{Agent: "ana", Channel: "telegram", Instance: "sales", From: from, Name: "Somebody"}
}

type world struct {
	*pairing.Store
	*pairing.Index
	js       jetstream.JetStream
	approved chan pairing.Pairing
}

func open(t *testing.T) world {
	t.Helper()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	w := world{Store: pairing.NewStore(b.JS), js: b.JS, approved: make(chan pairing.Pairing, 10)}
	w.Index = index(t, w.Store, func(p pairing.Pairing) { w.approved <- p })
	return w
}

func index(t *testing.T, store *pairing.Store, approved func(pairing.Pairing)) *pairing.Index {
	t.Helper()
	x := pairing.NewIndex(store, bustest.Log(t))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = x.Run(ctx, approved)
	}()
	t.Cleanup(func() { cancel(); <-done })
	<-x.Whole()
	return x
}

func (w world) ask(t *testing.T, from string) pairing.Pairing {
	t.Helper()
	p, ok := w.Notice(stranger(from), true)
	if !ok {
		t.Fatalf("no notice for %s", from)
	}
	if first, err := w.Index.Ask(t.Context(), p); err != nil || !first {
		t.Fatalf("Ask for %s: first %t, %v", from, first, err)
	}
	return p
}

func TestApprove(t *testing.T) {
	w := open(t)
	p := w.ask(t, "42")
	if !regexp.MustCompile(`^[A-Z2-9]{8}$`).MatchString(p.Code) {
		t.Errorf("code %q", p.Code)
	}
	if again, ok := w.Notice(stranger("42"), true); ok {
		t.Errorf("a second notice: %+v", again)
	}
	if first, err := w.Index.Ask(t.Context(), p); first || err != nil {
		t.Errorf("asked again: first %t, %v", first, err)
	}
	if w.Paired(p) {
		t.Error("paired before anybody approved it")
	}
	got, err := w.Approve(t.Context(), " "+p.Code+" ", "root")
	if err != nil || !got.Approved || got.By != "root" || got.Person() != "telegram.sales/42" {
		t.Fatalf("Approve: %+v, %v", got, err)
	}
	waittest.Until(t, "the index has the approval", func() bool { return w.Paired(p) })
	if told := <-w.approved; told.From != "42" {
		t.Errorf("told of %+v", told)
	}
	for _, code := range []string{p.Code, "AAAAAAAA", ""} {
		if _, err := w.Approve(t.Context(), code, "root"); !errors.Is(err, pairing.ErrNoCode) {
			t.Errorf("approve %q: %v", code, err)
		}
		if _, err := w.Deny(t.Context(), code); !errors.Is(err, pairing.ErrNoCode) {
			t.Errorf("deny %q: %v", code, err)
		}
	}
	if other := index(t, w.Store, func(pairing.Pairing) {}); !other.Paired(p) {
		t.Error("another host does not know of it")
	}
}

// A code is good for an hour by the clock of NATS, however wrong that of its host is.
func TestCodeOfAHostWhoseClockIsWrong(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"behind": -90 * time.Minute, "ahead": 90 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				w := open(t)
				var codes []string
				for _, from := range []string{"42", "43", "44"} {
					p, _ := w.Notice(stranger(from), true)
					p.AskedAt, p.Expires = p.AskedAt.Add(ahead), p.Expires.Add(ahead)
					if first, err := w.Store.Ask(t.Context(), p); err != nil || !first {
						t.Fatalf("Ask for %s: first %t, %v", from, first, err)
					}
					codes = append(codes, p.Code)
				}
				if list, err := w.List(t.Context()); err != nil || len(list) != 3 {
					t.Errorf("got %d codes, %v, want 3", len(list), err)
				}
				if _, err := w.Approve(t.Context(), codes[0], "ops"); err != nil {
					t.Errorf("approve: %v", err)
				}
				if _, err := w.Deny(t.Context(), codes[1]); err != nil {
					t.Errorf("deny: %v", err)
				}
				time.Sleep(50 * time.Minute)
				again := stranger("43")
				again.Code = pairing.NewCode()
				if first, err := w.Store.Ask(t.Context(), again); err != nil || first {
					t.Errorf("who was denied is told again within the hour: %t, %v", first, err)
				}
				time.Sleep(20 * time.Minute)
				if _, err := w.Approve(t.Context(), codes[2], "ops"); !errors.Is(err, pairing.ErrNoCode) {
					t.Errorf("approve after an hour: got %v, want %v", err, pairing.ErrNoCode)
				}
			})
		})
	}
}

func TestDeny(t *testing.T) {
	w := open(t)
	p := w.ask(t, "42")
	if got, err := w.Deny(t.Context(), p.Code); err != nil || got.From != "42" {
		t.Fatalf("Deny: %+v, %v", got, err)
	}
	list, err := w.List(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("List: %+v, %v", list, err)
	}
	other := index(t, w.Store, func(pairing.Pairing) {})
	if again, ok := other.Notice(stranger("42"), true); ok {
		t.Errorf("asked again within the hour: %+v", again)
	}
	if w.Paired(p) {
		t.Error("paired")
	}
}

func TestRevoke(t *testing.T) {
	w := open(t)
	p := w.ask(t, "42")
	if _, err := w.Approve(t.Context(), p.Code, "root"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ agent, person string }{{"", "telegram/42"}, {"", "telegram.sales/4"}, {"ben", "telegram.sales/42"}} {
		if _, err := w.Revoke(t.Context(), tt.agent, tt.person); err == nil {
			t.Errorf("revoked %s of %q", tt.person, tt.agent)
		}
	}
	if gone, err := w.Revoke(t.Context(), "", "telegram.sales/42"); err != nil || len(gone) != 1 {
		t.Fatalf("Revoke: %+v, %v", gone, err)
	}
	waittest.Until(t, "the index has it no more", func() bool { return !w.Paired(p) })
}

// One who was let in and shut out again within the hour hears nothing more in it: neither
// of this host, nor of another.
func TestNoticeAfterRevoke(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := open(t)
		p := w.ask(t, "42")
		time.Sleep(10 * time.Minute)
		if _, err := w.Approve(t.Context(), p.Code, "root"); err != nil {
			t.Fatal(err)
		}
		<-w.approved
		list, err := w.List(t.Context())
		if err != nil || len(list) != 1 || !list[0].Approved {
			t.Errorf("List: %+v, %v, want the approval alone", list, err)
		}
		if _, err := w.Approve(t.Context(), p.Code, "root"); !errors.Is(err, pairing.ErrNoCode) {
			t.Errorf("the code again: %v, want %v", err, pairing.ErrNoCode)
		}
		time.Sleep(10 * time.Minute)
		if _, err := w.Revoke(t.Context(), "", "telegram.sales/42"); err != nil {
			t.Fatal(err)
		}
		for _, minutes := range []int{0, 20, 19} { // up to 59 after the notice
			time.Sleep(time.Duration(minutes) * time.Minute)
			synctest.Wait()
			other := index(t, w.Store, func(pairing.Pairing) {})
			if w.Paired(p) || other.Paired(p) {
				t.Error("still paired")
			}
			for who, x := range map[string]*pairing.Index{"this host": w.Index, "another host": other} {
				if again, ok := x.Notice(stranger("42"), true); ok {
					t.Errorf("%s after the notice %s gives another: %+v", time.Since(p.AskedAt), who, again)
				}
			}
		}
		time.Sleep(2 * time.Minute)
		if again := w.ask(t, "42"); again.Code == "" || again.Code == p.Code {
			t.Errorf("an hour later: code %q, want a new one", again.Code)
		}
	})
}

// A flood of strangers does not fill the operator's list.
func TestMostOpen(t *testing.T) {
	w := open(t)
	for i := range pairing.MostOpen {
		w.ask(t, fmt.Sprint(i))
	}
	p := w.ask(t, "one more")
	if p.Code != "" {
		t.Errorf("code %q", p.Code)
	}
	list, err := w.List(t.Context())
	if err != nil || len(list) != pairing.MostOpen {
		t.Errorf("%d are open, %v", len(list), err)
	}
}

// Whoever may write to the bucket but is no host pairs nobody by accident.
func TestForeignEntries(t *testing.T) {
	w := open(t)
	p := w.ask(t, "42")
	kv, err := w.js.KeyValue(t.Context(), "AGENT_PAIRINGS")
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"paired.ana.nonsense": `{"agent":"ana","channel":"telegram","instance":"sales","from":"42","approved":true}`,
		"paired.ana.garbage":  `{`,
		"asked.ana.garbage":   `[]`,
	} {
		if _, err := kv.PutString(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	x := index(t, w.Store, func(pairing.Pairing) {})
	if x.Paired(p) {
		t.Error("paired by an entry under another key")
	}
	list, err := w.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Errorf("List: %+v, %v", list, err)
	}
}

// An approval that is overwritten with what no host writes lets in no sender, also on the hosts
// that knew it. A notice that is overwritten so keeps no stranger from the next one.
func TestOverwrittenEntries(t *testing.T) {
	w := open(t)
	p := w.ask(t, "42")
	approved, err := w.Approve(t.Context(), p.Code, "root")
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the index has the approval", func() bool { return w.Paired(p) })
	kv, err := w.js.KeyValue(t.Context(), "AGENT_PAIRINGS")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{approved.Key(), p.Key(), stranger("43").Key()} {
		if _, err := kv.PutString(t.Context(), key, "{"); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "the index has it no more", func() bool { return !w.Paired(p) })
	if q := w.ask(t, "43"); q.Code == "" {
		t.Error("no code over an entry that no host has written")
	}
}

func TestCodesDiffer(t *testing.T) {
	var codes []string
	for range 1000 {
		codes = append(codes, pairing.NewCode())
	}
	slices.Sort(codes)
	if n := len(slices.Compact(codes)); n != 1000 {
		t.Errorf("%d different codes of 1000", n)
	}
}

func TestOpen(t *testing.T) {
	p := stranger("42")
	p.Code, p.Expires = "ABCDEFGH", time.Now().Add(time.Minute)
	if !p.Open(time.Now()) || p.Open(time.Now().Add(time.Hour)) {
		t.Error("a code is open until it expires")
	}
}
