package host_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go/jetstream"
)

// garbage are payloads that cannot be a message.
func garbage() []string {
	list := []string{
		"", " ", "\n\t", "\x00", "a\x00b", "\xff", "\xc3\x28", "ok \xf0\x28\x8c\x28", "{", "{{", "{}", `{"`, `{"text`, `{"text":`,
		`{"text":"a"`, `{"text":"a",}`, `{"text":"a"}}`, `{"text":"a"} {"text":"b"}`, `{'text':'a'}`, `{text:"a"}`,
		"{\"text\":\"a\x01\"}", `{"text":"\u00zz"}`, `{"text":"a\u0000b"}`, "{\"text\":\"\xff\"}", `{"media":[]}`, `{"media":[{}]}`,
		`{"media":[{"kind":"image"}]}`, `{"media":[{"url":""}]}`, `{"text":"","media":null}`, `{"text":null}`, `{"text":"   "}`,
		`{"text":"a","priority":"urgent"}`, `{"text":"a","priority":"NOW"}`, strings.Repeat("[", 3) + "{", "{" + strings.Repeat(`"a":{`, 11000),
		`{"text":"a","meta":` + strings.Repeat("[", 20000) + `}`, "{" + strings.Repeat(" ", 1<<19), "{" + strings.Repeat("x", 1<<20-1000),
		"\xef\xbb\xbf{", `{"text":"a"}` + "\x00", `{"text":"` + strings.Repeat("\\", 99) + `"}`,
	}
	for _, field := range []string{"id", "from", "name", "chat", "group", "thread", "text", "media", "priority", "answers", "reply_to", "sent_at", "meta"} {
		for _, value := range []string{`{"a":1}`, `[1]`, `17`, `true`, `"x"`} {
			right := map[string]string{"group": "true", "meta": `{"a":1}`}
			if value == `"x"` && field != "group" && field != "media" && field != "meta" && field != "priority" || value == right[field] {
				continue
			}
			list = append(list, fmt.Sprintf(`{"text":"hi",%q:%s}`, field, value))
		}
	}
	// A plain text that only looks odd is a message.
	return slices.DeleteFunc(list, func(p string) bool { return strings.HasPrefix(p, "[") || p == "\xef\xbb\xbf{" })
}

func TestGarbageIsADeadLetterWithItsReason(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	bad := garbage()
	if len(bad) < 90 {
		t.Fatalf("only %d payloads", len(bad))
	}
	for _, p := range bad {
		if err := nc.Publish("plugin.inbound.demo", []byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "all dead", func() bool { return stored(t, h, bus.DeadStream) == uint64(len(bad)) })
	stream, err := h.Bus().JS.Stream(t.Context(), bus.DeadStream)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= uint64(len(bad)); seq++ {
		letter := deadLetter(t, stream, seq)
		want := bad[letter.Seq-1]
		if letter.Reason == "" || !letter.Omitted && string(letter.Data()) != want || letter.Agent != "demo" || letter.Stream != bus.InboundStream {
			t.Errorf("%.80q became %+v", want, letter)
		}
	}
	out := outbound(t, nc, 1)
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "still there?"})
	out()
}

func deadLetter(t *testing.T, stream jetstream.Stream, seq uint64) bus.DeadLetter {
	t.Helper()
	raw, err := stream.GetMsg(t.Context(), seq)
	if err != nil {
		t.Fatal(err)
	}
	letter := bus.DeadLetter{}
	if err := json.Unmarshal(raw.Data, &letter); err != nil {
		t.Fatal(err)
	}
	return letter
}

func TestOddIDsAreUsedAsTheyCome(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	ids := []string{
		"*", ">", "a.b", "a.*", "$JS.API", " ", "a b", "a\tb", "a\r\nNats-Msg-Id: x", "a\x00b", "ä", "👩‍🚀", "a/b", "a%2Fb", "../../x",
		`"`, `\`, "<script>", strings.Repeat("x", 256), "{}", "null",
	}
	out := outbound(t, nc, 2*len(ids))
	for i, id := range ids {
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: id, From: id, Text: fmt.Sprint(i)})
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: id, From: "same", Chat: id, Group: true, Thread: id, Text: fmt.Sprint(i)})
	}
	keys := map[string]bool{}
	for _, r := range out() {
		var i int
		fmt.Sscan(r.Text, &i)
		if r.Kind != "reply" || r.InReplyTo != ids[i] || r.To != ids[i] && r.Chat != ids[i] {
			t.Errorf("%q was answered %+v", ids[i], r)
		}
		keys[r.Session] = true
	}
	if len(keys) != 2*len(ids) {
		t.Errorf("got %d sessions, want %d", len(keys), 2*len(ids))
	}
}
