package tokens_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/httpauth"
	"agenthost/internal/tokens"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

// What stands in the bucket otherwise than a host writes it admits no request, and is in no list:
// by its list it could not be revoked.
func TestEntriesThatNoHostHasWritten(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	kv, err := b.JS.KeyValue(t.Context(), bus.TokensBucket)
	if err != nil {
		t.Fatal(err)
	}
	entry := func(name, role, sent string) string {
		return fmt.Sprintf(`{"name":%q,"role":%q,"hash":"%x"}`, name, role, sha256.Sum256([]byte(sent)))
	}
	foreign := map[string]string{ // by key
		"other":  entry("another", "admin", "other"),
		"role":   entry("role", "root", "role"),
		"norole": entry("norole", "", "norole"),
		"short":  `{"name":"short","role":"admin","hash":""}`,
		"broken": entry("broken", "admin", "broken")[1:],
	}
	for key, value := range foreign {
		if _, err := kv.PutString(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	index, store := tokens.NewIndex(), tokens.NewStore(b.JS)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = index.Run(ctx, b.JS, zerolog.Nop()) }()
	t.Cleanup(func() { cancel(); <-ended })
	_, sent, err := store.Add(t.Context(), tokens.Token{Name: "wall", Role: httpauth.Read})
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the token is known", func() bool { _, ok, _ := index.Find(sent, time.Now()); return ok })
	for key := range foreign {
		if got, ok, err := index.Find(key, time.Now()); ok || err != nil {
			t.Errorf("%s: let in as %+v, %v", key, got, err)
		}
	}
	if got, ok, _ := index.Find("", time.Now()); ok {
		t.Errorf("no token: let in as %+v", got)
	}
	if list, err := store.List(t.Context()); err != nil || len(list) != 1 || list[0].Name != "wall" {
		t.Errorf("List: %+v, %v", list, err)
	}
}
