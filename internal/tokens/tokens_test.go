package tokens_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/internal/httpauth"
	"agenthost/internal/tokens"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"
)

// A token that has come to share its name with one of the configuration is warned of, once.
func TestTokenWithANameOfTheConfiguration(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	store := tokens.NewStore(b.JS)
	for _, name := range []string{"desk", "wall"} {
		if _, _, err := store.Add(t.Context(), tokens.Token{Name: name, Role: httpauth.Read}); err != nil {
			t.Fatal(err)
		}
	}
	kv, err := b.JS.KeyValue(t.Context(), bus.TokensBucket)
	if err == nil {
		_, err = kv.PutString(t.Context(), "torn", "garbage")
	}
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 10)
	log := zerolog.New(io.Discard).Hook(zerolog.HookFunc(func(_ *zerolog.Event, level zerolog.Level, text string) {
		if level == zerolog.WarnLevel {
			said <- text
		}
	}))
	index := tokens.NewIndex("desk")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = index.Run(ctx, b.JS, log) }()
	for _, want := range []string{"http.tokens has the name of a token that was made by command", "was not written by a host"} { // in the order of the bucket
		select {
		case text := <-said:
			if !strings.Contains(text, want) {
				t.Errorf("got %s", text)
			}
		case <-time.After(20 * time.Second):
			t.Error("nothing is said")
		}
	}
	cancel()
	<-ended
	if len(said) > 0 {
		t.Errorf("said too: %s", <-said)
	}
}

// A token lets in who sends it, as what it was made for, until it expires or is revoked.
func TestTokenCountsUntilItsEnd(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	index, store := tokens.NewIndex(), tokens.NewStore(b.JS)
	if _, _, err := index.Find("x", time.Now()); !errors.Is(err, httpauth.ErrStarting) {
		t.Errorf("a host that has yet to start says of a token that it is unknown: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = index.Run(ctx, b.JS, zerolog.Nop()) }()
	t.Cleanup(func() { cancel(); <-ended })

	now := time.Now()
	want := httpauth.Token{Name: "wall", Role: httpauth.Read, Agents: []string{"ana"}}
	_, sent, err := store.Add(t.Context(), tokens.Token{Name: "wall", Role: httpauth.Read, Agents: []string{"ana"}, Expires: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	_, forever, err := store.Add(t.Context(), tokens.Token{Name: "ever", Role: httpauth.Chat})
	if err != nil {
		t.Fatal(err)
	}
	lets := func(sent string, at time.Time) bool { _, ok, _ := index.Find(sent, at); return ok }
	waittest.Until(t, "the tokens are known", func() bool { return lets(sent, now) && lets(forever, now) })
	if got, _, _ := index.Find(sent, now.Add(59*time.Minute)); cmp.Diff(want, got, cmpopts.EquateEmpty()) != "" {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for name, tt := range map[string]struct {
		sent string
		at   time.Time
		want bool
	}{
		"at its end":          {sent, now.Add(time.Hour), false},
		"a day after":         {sent, now.AddDate(0, 0, 1), false},
		"without an end":      {forever, now.AddDate(9, 0, 0), true},
		"another":             {sent + "x", now, false},
		"none":                {"", now, false},
		"the name of a token": {"wall", now, false},
	} {
		if _, got, err := index.Find(tt.sent, tt.at); got != tt.want || err != nil {
			t.Errorf("%s: let in %t, %v, want %t", name, got, err, tt.want)
		}
	}
	if _, err := store.Revoke(t.Context(), "ever"); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the token is revoked", func() bool { return !lets(forever, now) })
	if !lets(sent, now) {
		t.Error("another token was revoked with it")
	}
}

// A token that was lost with its bucket lets in no longer: it is in no list, and could not be
// revoked. One that is made then does, until it is revoked.
func TestTokensOfABucketThatIsMadeAgain(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		index, store := tokens.NewIndex(), tokens.NewStore(b.JS)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = index.Run(ctx, b.JS, zerolog.Nop()) }()
		defer func() { cancel(); <-ended }()
		add := func(name string) (sent string) {
			_, sent, err := store.Add(t.Context(), tokens.Token{Name: name, Role: httpauth.Read})
			if err != nil {
				t.Fatal(err)
			}
			return sent
		}
		lets := func(sent string) bool {
			time.Sleep(time.Minute)
			_, ok, _ := index.Find(sent, time.Now())
			return ok
		}
		add("other")
		old := add("old")
		if !lets(old) {
			t.Error("a token is not known")
		}
		if err := b.JS.DeleteKeyValue(t.Context(), bus.TokensBucket); err != nil {
			t.Fatal(err)
		}
		bustest.Provision(t, b.JS)
		if lets(old) {
			t.Error("a token that is lost lets in")
		}
		fresh := add("new")
		if !lets(fresh) {
			t.Error("a token that was made afterwards is not known")
		}
		if _, err := store.Revoke(t.Context(), "new"); err != nil {
			t.Fatal(err)
		}
		if lets(fresh) {
			t.Error("a token that was revoked afterwards lets in")
		}
	})
}

// Who reads the bucket, or a backup of it, has no token: not now, and not in what it
// has kept of before.
func TestBucketHasNoToken(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	store := tokens.NewStore(b.JS)
	made := map[string]string{}
	for _, name := range []string{"wall", "ever"} {
		_, token, err := store.Add(t.Context(), tokens.Token{Name: name, Role: httpauth.Chat, By: "cli:ana"})
		if err != nil || !strings.HasPrefix(token, "aht_") {
			t.Fatalf("got %q, %v", token, err)
		}
		made[name] = token
	}
	if _, err := store.Revoke(t.Context(), "ever"); err != nil {
		t.Fatal(err)
	}
	hashes := 0
	for rec, err := range records.NewReader(b.JS).Tail(t.Context(), "KV_"+bus.TokensBucket, "$KV."+bus.TokensBucket+".>", 1) {
		if err != nil {
			t.Fatal(err)
		}
		all := fmt.Sprintf("%s %v %s", rec.Subject, rec.Header, rec.Data)
		if strings.Contains(all, "aht_") {
			t.Errorf("it has %s", all)
		}
		for name, token := range made {
			if strings.Contains(all, strings.TrimPrefix(token, "aht_")) {
				t.Errorf("it has the token %s: %s", name, all)
			}
			if strings.Contains(string(rec.Data), fmt.Sprintf(`"hash":"%x"`, sha256.Sum256([]byte(token)))) {
				hashes++
			}
		}
	}
	if hashes == 0 {
		t.Error("it has the hash of no token")
	}
}

// A login that is ended at one host is ended at all, also at one that starts later, and what the
// bucket has of it goes when it would have ended by itself.
func TestLogoutCountsEverywhere(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	host := func() *tokens.Index {
		index := tokens.NewIndex()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = index.Run(ctx, b.JS, zerolog.Nop()) }()
		t.Cleanup(func() { cancel(); <-ended })
		return index
	}
	fresh := tokens.NewIndex()
	if err := fresh.LogOut(t.Context(), "a", time.Now()); err == nil {
		t.Error("a host that has yet to start took a logout")
	}
	if _, err := fresh.LoggedOut("a"); !errors.Is(err, httpauth.ErrStarting) {
		t.Errorf("a host that has yet to start says of a login that it counts: %v", err)
	}
	out := func(index *tokens.Index, login string) bool {
		ended, err := index.LoggedOut(login)
		return ended && err == nil
	}
	counts := func(index *tokens.Index, login string) bool {
		ended, err := index.LoggedOut(login)
		return !ended && err == nil
	}
	one, two := host(), host()
	waittest.Until(t, "the host has read which logins were ended", func() bool { return counts(one, "a") })
	if err := one.LogOut(t.Context(), "a", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !out(one, "a") || !counts(one, "b") {
		t.Error("the host that took the logout does not know it, or knows one more")
	}
	waittest.Until(t, "the other host knows it", func() bool { return out(two, "a") })
	three := host()
	waittest.Until(t, "a host that starts knows it", func() bool { return out(three, "a") })
	if err := one.LogOut(t.Context(), "over", time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "what is over is removed", func() bool { return counts(one, "over") && counts(two, "over") })
	if list, err := tokens.NewStore(b.JS).List(t.Context()); err != nil || len(list) != 0 || !out(one, "a") {
		t.Errorf("tokens: %v, %v", list, err)
	}
}
