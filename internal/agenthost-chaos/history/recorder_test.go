package history_test

import (
	"fmt"
	"testing"

	"agenthost/internal/agenthost-chaos/history"
)

// sent is how a commit passes on a connection.
func sent(id string, expected int, reply string) string {
	header := fmt.Sprintf("NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: %d\r\nAgent-Commit: %s\r\n\r\n", expected, id)
	data := "{\r\nPUB agent.session.x.y 3\r\n}" // which is no line of control
	return fmt.Sprintf("HPUB agent.session.ana.s1 %s %d %d\r\n%s%s\r\n", reply, len(header), len(header)+len(data), header, data)
}

func answer(reply, data string) string {
	return fmt.Sprintf("MSG %s 4 %d\r\n%s\r\n", reply, len(data), data)
}

const (
	accepted = `{"stream":"AGENT_SESSIONS","seq":12}`
	wrong    = `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 12"},"stream":"AGENT_SESSIONS","seq":0}`
	away     = `{"error":{"code":503,"err_code":10008,"description":"jetstream not available"},"stream":"AGENT_SESSIONS","seq":0}`
)

func TestRecorder(t *testing.T) {
	const other = "CONNECT {\"verbose\":false}\r\nPING\r\nSUB _INBOX.a.* 4\r\nPUB chat.x 2\r\nhi\r\n"
	for name, c := range map[string]struct {
		toServer, toClient string
		want               []history.Append
	}{
		"stored":        {sent("c1", 7, "_INBOX.a.1"), answer("_INBOX.a.1", accepted), []history.Append{{ID: "c1", Expected: 7, Copies: 1, Outcome: history.Stored, Seq: 12}}},
		"refused":       {sent("c1", 7, "_INBOX.a.1"), answer("_INBOX.a.1", wrong), []history.Append{{ID: "c1", Expected: 7, Copies: 1, Outcome: history.Refused, Last: 12}}},
		"not now":       {sent("c1", 7, "_INBOX.a.1"), answer("_INBOX.a.1", away), []history.Append{{ID: "c1", Expected: 7, Copies: 1}}},
		"no answer":     {sent("c1", 7, "_INBOX.a.1"), answer("_INBOX.a.2", accepted), []history.Append{{ID: "c1", Expected: 7, Copies: 1}}},
		"sent twice":    {sent("c1", 7, "_INBOX.a.1") + sent("c1", 7, "_INBOX.a.1"), answer("_INBOX.a.1", wrong), []history.Append{{ID: "c1", Expected: 7, Copies: 2}}},
		"the first one": {sent("c1", 7, "_INBOX.a.1") + sent("c1", 7, "_INBOX.a.1"), answer("_INBOX.a.1", wrong) + answer("_INBOX.a.1", accepted), []history.Append{{ID: "c1", Expected: 7, Copies: 2, Outcome: history.Stored, Seq: 12}}},
		"cut short":     {sent("c1", 7, "_INBOX.a.1")[:100], "", nil},
		"answered again": {sent("c1", 7, "_INBOX.a.1") + sent("c2", 12, "_INBOX.a.2"), answer("_INBOX.a.1", accepted) + answer("_INBOX.a.1", wrong), []history.Append{
			{ID: "c1", Expected: 7, Copies: 1, Outcome: history.Stored, Seq: 12}, {ID: "c2", Expected: 12, Copies: 1},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{1, 7, 1 << 20} {
				r := history.NewRecorder()
				toServer, toClient := r.Tap("h1")
				feed(toServer, other+c.toServer, piece)
				feed(toClient, "INFO {}\r\nPONG\r\n"+c.toClient, piece)
				compare(t, r.Appends(), c.want)
			}
		})
	}
}

// feed passes text on in pieces.
func feed(to func([]byte), text string, piece int) {
	for len(text) > 0 {
		n := min(piece, len(text))
		to([]byte(text[:n]))
		text = text[n:]
	}
}

// compare leaves the times out, and fills in what is the same everywhere.
func compare(t *testing.T, got, want []history.Append) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for n, w := range want {
		g := got[n]
		if g.Call <= 0 || g.Outcome != history.Unknown && g.Return <= g.Call {
			t.Errorf("%s was called after %s and answered after %s", g.ID, g.Call, g.Return)
		}
		g.Call, g.Return = 0, 0
		w.Host, w.Subject = "h1", "agent.session.ana.s1"
		if g != w {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
}
