//go:build long

package engine_test

import (
	"strings"
	"testing"

	"agenthost/bus"
)

func TestWordsOfAnApproval(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // the word, and what comes of it
		"approve": "ran", "Approve.": "ran", "APPROVE!": "ran", "yes": "ran", "Yes.": "ran", "ok": "ran", "OK!": "ran", "y": "ran",
		" approve session ": "ran", "approve 1": "ran", "yes, session": "ran", "*approve*": "ran", "ja": "ran", "Ja!": "ran",
		"deny": "denied", "Deny.": "denied", "no": "denied", "No!": "denied", "nein": "denied", "deny 1": "denied",
		"1":      "waits", // the answer to another question, perhaps
		"line 1": "ran", "line 2": "denied", "line 3": "waits",
		"approve 2": "waits", "yes please": "waits", "no idea": "waits", "okay then, go on and do it": "waits", "yes no": "waits",
		"maybe": "waits", "approve everything": "waits",
	}
	for word, want := range tests {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			var r runs
			w := newWorld(t, bot("ana", script(writing), has(r.tool()), func(a *actor) { a.cfg.Language = "de" }))
			w.say("ana", bus.Inbound{Text: "write"})
			if out := w.hear(); out.Kind != "approval" {
				t.Fatalf("heard %+v", out)
			}
			w.settled()
			in := bus.Inbound{ID: "word", Text: word}
			if n, ok := strings.CutPrefix(word, "line "); ok { // of a platform that shows the options as numbered lines
				in.Text, in.Meta = n, map[string]any{bus.MetaOption: n[0] - '0'}
			}
			w.say("ana", in)
			switch want {
			case "ran":
				w.expect("reply", "It says: wrote note.txt")
			case "denied":
				w.expect("reply", "It says: denied")
			default: // it is a message, which is answered after the run
				if out := w.hear(); out.Kind != "notice" || out.InReplyTo != "word" || strings.Contains(out.Text, ".)") {
					t.Fatalf("heard %+v", out)
				}
				w.say("ana", bus.Inbound{Text: "approve"})
				w.expect("reply", "It says: wrote note.txt")
				w.expect("reply", "You said: "+in.Text)
			}
		})
	}
}
