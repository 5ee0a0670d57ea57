package erase

import (
	"fmt"
	"testing"

	"agenthost/internal/erasure"
	"agenthost/session"
)

// With an agent only what it has of the person is erased: neither what others have of them, nor what
// it has of others.
func TestEntriesOfOneAgent(t *testing.T) {
	e := &eraser{
		opt: Options{Agent: "ana"}, places: map[string]bool{"web": true}, names: map[string]bool{},
		r: &redactor{person: erasure.Person{Place: "web", From: "zoe"}, keys: map[session.Key]bool{"web/dm/zoe": true}, ids: map[string]bool{}},
	}
	sid := func(agent, key string) string { return session.SID(agent, session.Key(key)) }
	for name, is := range map[string]func(agent, from string) bool{
		"an approval": func(agent, from string) bool {
			return e.theirYes(agent+".all.x", fmt.Appendf(nil, `{"by":"web/%s"}`, from))
		},
		"an approval in a session": func(agent, from string) bool {
			return e.theirYes(agent+".all.x", fmt.Appendf(nil, `{"by":"cli","session":"web/dm/%s"}`, from))
		},
		"a question": func(agent, from string) bool {
			return e.theirWait(agent+".q", fmt.Appendf(nil, `{"session":"web/dm/%s","approvers":["web/%[1]s"]}`, from))
		},
		"a note": func(agent, from string) bool {
			return e.theirNote(agent+".n", fmt.Appendf(nil, `{"peer":"web/dm/%s","text":"likes tea"}`, from))
		},
		"a pairing": func(agent, from string) bool {
			return e.theirPairing("paired.x", fmt.Appendf(nil, `{"agent":%q,"channel":"web","from":%q}`, agent, from))
		},
		"what was spent in a day": func(agent, from string) bool {
			return e.theirSpending(agent+".2026-01-02."+sid(agent, "web/"+from), nil)
		},
		"an alert": func(agent, from string) bool {
			return e.theirSpending(agent+".2026-01-02.alert.peer_day-80."+sid(agent, "web/"+from), nil)
		},
		"a deleted session": func(agent, from string) bool { return e.theirTombstone(agent, sid(agent, "web/dm/"+from)) },
	} {
		for _, agent := range []string{"ana", "ben"} {
			for _, from := range []string{"zoe", "bob"} {
				if got, want := is(agent, from), agent == "ana" && from == "zoe"; got != want {
					t.Errorf("%s of %s with %s: erased %t, want %t", name, from, agent, got, want)
				}
			}
		}
	}
	for key, value := range map[string]string{"ana.all.x": "", "ana.n": "{", "ana.2026-01-02": `{"spent":1}`} {
		if e.theirYes(key, []byte(value)) || e.theirNote(key, []byte(value)) || e.theirSpending(key, []byte(value)) {
			t.Errorf("%s %q is erased", key, value)
		}
	}
}
