package web_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/host/hosttest"
	"agenthost/internal/httpauth"
	"agenthost/internal/waittest"
	"agenthost/plugins/settings"
)

func TestMessageAndAnswer(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v := visit(t, base)
	var me struct {
		Person string
		Agents []struct{ ID, Description string }
	}
	if code := v.read("/chat/api/me", &me); code != 200 || len(me.Agents) != 2 || !strings.HasPrefix(me.Person, "guest-") {
		t.Errorf("me: got %d %+v", code, me)
	}
	next, _ := v.events(place("main", 0), nil)
	v.say("message-1", "hello")
	own, e := ownFirst(next("line"), next("line"))
	if it := own.item(); !it.Mine || it.ID != "message-1" {
		t.Errorf("what was written: got %+v", it)
	}
	if it := e.item(); it.Text != "hello" || !it.Final || len(it.InReplyTo) != 1 || it.InReplyTo[0] != "message-1" || e.id == "" {
		t.Errorf("the answer: got %+v, %+v", e, it)
	}
	v.say("message-1", "hello") // the answer to the request was lost, say
	v.say("message-2", "again")
	if own, _ := ownFirst(next("line"), next("line")); own.item().ID != "message-2" {
		t.Errorf("after a retry: got %+v", own.item())
	}
	items := v.answered("main", 2)
	if len(items) != 4 || items[0].ID != "message-1" || items[0].Text != "hello" || items[3].Text != "again" || items[3].Agent != "ana" {
		t.Errorf("history: got %+v", items)
	}
	var list struct{ Conversations []struct{ ID, Title string } }
	if code := v.read("/chat/api/conversations?agent=ana", &list); code != 200 || len(list.Conversations) != 1 || list.Conversations[0].Title != "hello" || list.Conversations[0].ID != "main" {
		t.Errorf("conversations: got %d %+v", code, list)
	}
}

// ownFirst are a message and its answer, which come from two streams, in whichever order.
func ownFirst(a, b event) (own, answer event) {
	if a.item().Mine {
		return a, b
	}
	return b, a
}

// A page that was away gets what it has missed, once.
func TestNothingIsMissedOverABreak(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v := visit(t, base)
	next, res := v.events(place("main", 0), nil)
	v.say("message-1", "one")
	last := ""
	for range 2 { // the message and its answer come in either order; what has no id changes nothing
		last = cmp.Or(next("line").id, last)
	}
	res.end()
	for i := range 3 {
		v.say(fmt.Sprint("missed-00", i), fmt.Sprint("missed ", i))
		v.answered("main", 2+i)
	}
	next, _ = v.events(place("main", 0), http.Header{"Last-Event-Id": {last}})
	v.say("message-9", "nine")
	var got []string
	for len(got) < 4 {
		if it := next("line").item(); !it.Mine {
			got = append(got, it.Text)
		}
	}
	if want := "missed 0,missed 1,missed 2,nine"; strings.Join(got, ",") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A place behind the last reply, of a stream that is gone or made up, has the page read the
// conversation again, and keeps nothing from it.
func TestPlaceBehindTheLastReply(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v := visit(t, base)
	v.say("message-1", "one")
	v.answered("main", 1)
	at := place("main", 0)
	at.Del("after")
	for _, none := range []string{"18446744073709551616", "-1", "1.5", "abc"} {
		next, _ := v.events(at, http.Header{"Last-Event-Id": {none}})
		next("reset")
	}
	next, _ := v.events(place("main", 0), http.Header{"Last-Event-Id": {"999999"}})
	next("reset")
	v.say("message-2", "two")
	for it := next("line").item(); it.Mine || it.Text != "two"; it = next("line").item() {
	}
}

// The first answer of a new host may come between the history, which was empty, and the
// events.
func TestFirstAnswerIsNotMissed(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v := visit(t, base)
	empty := v.history("main")
	if empty.After != 0 || len(empty.Items) > 0 {
		t.Fatalf("a new host: got %+v", empty)
	}
	v.say("message-1", "one")
	v.answered("main", 1)
	next, _ := v.events(place("main", empty.After), nil)
	if it := next("line").item(); it.Mine || it.Text != "one" {
		t.Errorf("got %+v", it)
	}
}

// A visitor who comes while a model speaks sees the message and the whole text.
func TestReloadFindsTheAnswerGrowing(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v := visit(t, base)
	next, _ := v.events(place("main", 0), nil)
	v.say("message-1", "a slow story")
	next("delta")
	h := v.history("main")
	if !h.Running || len(h.Items) != 1 || h.Items[0].ID != "message-1" {
		t.Fatalf("while it grows: got %+v", h)
	}
	again, _ := v.events(place("main", h.After), nil)
	text := ""
	for !strings.Contains(text, "The end.") {
		var c struct {
			Offset int
			Text   string
		}
		if err := json.Unmarshal([]byte(again("delta").data), &c); err != nil {
			t.Fatal(err)
		}
		if c.Offset != len(text) {
			t.Fatalf("offset %d behind %d bytes", c.Offset, len(text))
		}
		text += c.Text
	}
	if it := again("line").item(); it.Text != text {
		t.Errorf("reply %q, want %q", it.Text, text)
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v, stranger := visit(t, base), visit(t, base)
	v.say("message-1", "refund")
	asked := v.answered("main", 1)[1]
	if asked.Kind != "approval" || asked.Call == "" || !strings.Contains(asked.Whole, "Arrived broken") || asked.Closed {
		t.Fatalf("got %+v", asked)
	}
	other, _ := v.events(place("main", 0), nil)
	no := message("answer-00", "approve")
	no["answers"] = asked.Call
	stranger.post(no)
	refused := stranger.answered("main", 1)
	if it := refused[len(refused)-1]; it.Kind != "error" {
		t.Errorf("a stranger's answer: got %+v", it)
	}
	yes := message("answer-01", "approve")
	yes["answers"] = asked.Call
	if res := v.post(yes); res.StatusCode != http.StatusAccepted {
		t.Fatalf("got %d", res.StatusCode)
	}
	pressed := other("line").item()
	for pressed.Kind != "answer" { // the approval itself may come first
		pressed = other("line").item()
	}
	if pressed.Call != asked.Call || pressed.Text != "approve" {
		t.Errorf("the other page: got %+v", pressed)
	}
	items := v.answered("main", 2)
	if a := items[1]; a.Answer != "approve" || !a.Closed {
		t.Errorf("answered: got %+v", a)
	}
	if last := items[len(items)-1]; !strings.Contains(last.Text, "is refunded") {
		t.Errorf("then: got %+v", last)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v := visit(t, base)
	next, _ := v.events(place("main", 0), nil)
	v.say("message-1", "endless")
	next("delta")
	if res := v.post(fields{"id": "stop-0001", "agent": "ana", "conversation": "main", "stop": true}); res.StatusCode != http.StatusAccepted {
		t.Fatalf("got %d", res.StatusCode)
	}
	items := v.answered("main", 1)
	if len(items) != 2 || items[1].Code != "cancelled" || items[1].InReplyTo[0] != "message-1" {
		t.Errorf("got %+v", items)
	}
	waittest.Until(t, "no agent is at work", func() bool { return !v.history("main").Running })
}

// Conversations of a person are sessions of their own, and of no other person.
func TestConversationsAreApart(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	ana, eve := visit(t, base), visit(t, base)
	secret := message("message-1", "the secret")
	secret["conversation"] = "abcdefgh12345678"
	if res := ana.upload(secret, file{"a.txt", "text/plain", "hidden"}); res.StatusCode != http.StatusAccepted {
		t.Fatalf("got %d", res.StatusCode)
	}
	ana.answered("abcdefgh12345678", 1)
	if got := ana.history("main"); len(got.Items) != 0 {
		t.Errorf("another conversation of hers: got %+v", got.Items)
	}
	next, _ := eve.events(place("abcdefgh12345678", 1), nil)
	eve.say("message-1", "only mine") // the same id, from another person
	for _, it := range []item{next("line").item(), next("line").item()} {
		if it.Text != "only mine" {
			t.Errorf("eve hears %+v", it)
		}
	}
	if got := eve.history("abcdefgh12345678"); len(got.Items) != 0 {
		t.Errorf("eve reads %+v", got.Items)
	}
	var list struct{ Conversations []any }
	eve.read("/chat/api/conversations?agent=ana", &list)
	if len(list.Conversations) != 1 {
		t.Errorf("eve's conversations: got %v", list)
	}
	path := "/chat/api/file?agent=ana&conversation=abcdefgh12345678&message=message-1&n=0"
	if res := eve.do("GET", path, nil, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("eve's file: got %d", res.StatusCode)
	}
	if res := ana.do("GET", path, nil, nil); res.StatusCode != http.StatusOK {
		t.Errorf("ana's file: got %d", res.StatusCode)
	}
	for _, conversation := range []string{"", "../main", "a/b", "x", "ABCDEFGH", "main/../x", strings.Repeat("a", 41)} {
		if code := eve.read("/chat/api/history?agent=ana&conversation="+conversation, nil); code != http.StatusNotFound {
			t.Errorf("conversation %q: got %d", conversation, code)
		}
	}
	if code := eve.read("/chat/api/history?agent=kate&conversation=main", nil); code != http.StatusNotFound {
		t.Errorf("an unknown agent: got %d", code)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	base, _ := serve(t, func(c *config.Config) { c.Plugins.Web = &settings.Web{MaxFile: 1000} })
	v := visit(t, base)
	png := "\x89PNG\r\n\x1a\n0000"
	res := v.upload(message("message-1", ""), file{"dir/a.png", "image/png", png}, file{"x.html", "image/png", "<script>alert(1)</script>"}, file{"n.pdf", "application/pdf", "%PDF-1.4"})
	if res.StatusCode != http.StatusAccepted {
		t.Fatalf("got %d", res.StatusCode)
	}
	sent := v.history("main").Items[0]
	if len(sent.Files) != 3 || sent.Files[0].Name != "a.png" || !sent.Files[0].Image || sent.Files[1].Image {
		t.Errorf("got %+v", sent.Files)
	}
	v.say("message-2", "page file")
	var made item
	waittest.Until(t, "the agent's file", func() bool {
		items := v.history("main").Items
		made = items[len(items)-1]
		return made.Text == "A page."
	})
	tests := map[string]struct{ message, n, kind, disposition, content string }{
		"an image":          {"message-1", "0", "image/png", `inline; filename=a.png`, png},
		"a false image":     {"message-1", "1", "application/octet-stream", `attachment; filename=x.html`, "<script>alert(1)</script>"},
		"another file":      {"message-1", "2", "application/octet-stream", `attachment; filename=n.pdf`, "%PDF-1.4"},
		"a file of a model": {made.ID, "0", "application/octet-stream", `attachment; filename="a\"b.html"`, "<script>alert(1)</script>"},
	}
	for name, tt := range tests {
		res := v.do("GET", "/chat/api/file?agent=ana&conversation=main&message="+tt.message+"&n="+tt.n, nil, nil)
		body := res.Body.String()
		h := res.Header
		if res.StatusCode != 200 || body != tt.content || h.Get("Content-Type") != tt.kind || h.Get("Content-Disposition") != tt.disposition ||
			h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: got %d %v %q", name, res.StatusCode, h, body)
		}
	}
	for _, q := range []string{"message=message-1&n=3", "message=message-1&n=-1", "message=message-1&n=x", "message=none&n=0"} {
		if res := v.do("GET", "/chat/api/file?agent=ana&conversation=main&"+q, nil, nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %d", q, res.StatusCode)
		}
	}
	if res := v.upload(message("message-3", ""), file{"big", "text/plain", strings.Repeat("x", 1001)}); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a file that is too large: got %d", res.StatusCode)
	}
	if res := v.upload(message("message-3", ""), make([]file, 11)...); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("too many files: got %d", res.StatusCode)
	}
}

// A name of a file shows how the file ends, and leads into no folder, from a person or from an agent.
func TestNamesOfFilesAreNotTurnedAround(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v := visit(t, base)
	if res := v.upload(message("message-1", "turned page"), file{"\u202egnp.\u2067exe", "application/octet-stream", "MZ"}); res.StatusCode != http.StatusAccepted {
		t.Fatalf("got %d", res.StatusCode)
	}
	var items []item
	waittest.Until(t, "the agent's file", func() bool {
		items = v.history("main").Items
		return items[len(items)-1].Text == "A turned page."
	})
	made := items[len(items)-1]
	if got := items[0].Files[0].Name; got != "gnp.exe" {
		t.Errorf("of a person: %q", got)
	}
	if got := made.Files[0].Name; got != "agnp.html" {
		t.Errorf("of an agent: %q", got)
	}
	if got := v.do("GET", "/chat/api/file?agent=ana&conversation=main&message="+made.ID+"&n=0", nil, nil).Header.Get("Content-Disposition"); got != "attachment; filename=agnp.html" {
		t.Errorf("to be saved: %q", got)
	}
}

// A form without text and files is no message, which would end as a dead letter.
func TestEmptyFormIsRefused(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v := visit(t, base)
	if res := v.upload(message("message-1", " ")); res.StatusCode != http.StatusBadRequest {
		t.Errorf("got %d", res.StatusCode)
	}
	if got := v.history("main"); len(got.Items) > 0 {
		t.Errorf("it was taken: %+v", got.Items)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	with := func(key string, value any) fields {
		m := message("message-1", "hello")
		m[key] = value
		return m
	}
	tests := map[string]struct {
		m      fields
		status int
	}{
		"no text":             {with("text", " \n"), 400},
		"a NUL":               {with("text", "a\x00b"), 400},
		"no UTF-8":            {with("text", json.RawMessage("\"a\xffb\"")), 400},
		"no id":               {with("id", ""), 400},
		"a strange id":        {with("id", "a b c d e f"), 400},
		"a long id":           {with("id", strings.Repeat("a", 65)), 400},
		"an unknown agent":    {with("agent", "kate"), 404},
		"a bad conversation":  {with("conversation", "../x"), 404},
		"too long a text":     {with("text", strings.Repeat("x", 100_001)), 413},
		"too large a request": {with("text", strings.Repeat("x", 1<<20)), 413},
		"a wrong type":        {with("text", 7), 400},
		"a long call":         {with("answers", strings.Repeat("a", 257)), 400},
	}
	for name, tt := range tests {
		v := visit(t, base)
		res := v.post(tt.m)
		var body struct{ Error string }
		_ = json.NewDecoder(res.Body).Decode(&body)
		if res.StatusCode != tt.status || body.Error == "" {
			t.Errorf("%s: got %d %q", name, res.StatusCode, body.Error)
		}
		if got := v.history("main"); len(got.Items) > 0 {
			t.Errorf("%s: it was taken: %+v", name, got.Items)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v := visit(t, base)
	codes := map[int]int{}
	for i := range 40 {
		res := v.post(message(fmt.Sprintf("message-%04d", i), "hello"))
		codes[res.StatusCode]++
		if res.StatusCode == http.StatusTooManyRequests && res.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if codes[202] < 20 || codes[429] == 0 || codes[202]+codes[429] != 40 {
		t.Errorf("40 messages at once: got %v", codes)
	}
	if res := visit(t, base).post(message("message-1", "hello")); res.StatusCode != http.StatusAccepted {
		t.Errorf("another person: got %d", res.StatusCode)
	}
	var open []*eventStream
	for range 8 {
		_, res := v.events(place("main", 0), nil)
		open = append(open, res)
	}
	if _, res := v.events(place("main", 0), nil); res.status != http.StatusTooManyRequests {
		t.Errorf("the ninth stream: got %d", res.status)
	}
	open[0].end()
	waittest.Until(t, "a stream is free again", func() bool {
		_, res := v.events(place("main", 0), nil)
		return res.status == http.StatusOK
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	base, _ := serve(t, func(c *config.Config) {
		c.HTTP.Token = "all-secret"
		c.HTTP.Tokens = []httpauth.Token{
			{Name: "shop", Token: "shop-secret", Role: httpauth.Chat, Agents: []string{"ana"}},
			{Name: "eye", Token: "eye-secret", Role: httpauth.Read},
		}
	})
	as := func(token, visitorID string) *visitor {
		v := &visitor{t: t, base: base, header: http.Header{}}
		if token != "" {
			v.header.Set("Authorization", "Bearer "+token)
		}
		if visitorID != "" {
			v.header.Set("Agenthost-Visitor", visitorID)
		}
		return v
	}
	var me struct {
		Person string
		Agents []struct{ ID string }
	}
	one, two := strings.Repeat("1", 32), strings.Repeat("2", 32)
	tests := map[string]struct {
		v              *visitor
		code           int
		person, agents string
		post           int
	}{
		"without a token":    {as("", ""), 401, "", "", 401},
		"a visitor alone":    {as("", one), 401, "", "", 401},
		"the one token":      {as("all-secret", ""), 200, "operator", "[{ana} {bob}]", 202},
		"a chat token":       {as("shop-secret", ""), 200, "shop", "[{ana}]", 202},
		"a visitor of it":    {as("shop-secret", one), 200, "shop~" + one, "[{ana}]", 202},
		"another":            {as("shop-secret", two), 200, "shop~" + two, "[{ana}]", 202},
		"a strange visitor":  {as("shop-secret", "../operator"), 200, "shop", "[{ana}]", 202},
		"an admin stays one": {as("all-secret", one), 200, "operator", "[{ana} {bob}]", 202},
		"a reader":           {as("eye-secret", one), 200, "eye", "[{ana} {bob}]", 403},
	}
	for name, tt := range tests {
		me.Person, me.Agents = "", nil
		code := tt.v.read("/chat/api/me", &me)
		agents := fmt.Sprint(me.Agents)
		if me.Agents == nil {
			agents = ""
		}
		if code != tt.code || me.Person != tt.person || agents != tt.agents {
			t.Errorf("%s: got %d %+v", name, code, me)
		}
		if res := tt.v.post(message("message-1", "hello")); res.StatusCode != tt.post {
			t.Errorf("%s: post: got %d", name, res.StatusCode)
		}
	}
	if code := as("shop-secret", "").read("/chat/api/history?agent=bob&conversation=main", nil); code != http.StatusNotFound {
		t.Errorf("an agent that the token is not good for: got %d", code)
	}
}

func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	base, _ := serve(t)
	v := visit(t, base)
	for _, h := range []http.Header{{"Origin": {"https://evil.test"}}, {"Sec-Fetch-Site": {"cross-site"}}, {"Origin": {"null"}}} {
		if res := v.do("POST", "/chat/api/messages", strings.NewReader(`{"id":"message-1","agent":"ana","conversation":"main","text":"x"}`), h); res.StatusCode != http.StatusForbidden {
			t.Errorf("%v: got %d", h, res.StatusCode)
		}
		if res := v.do("GET", "/chat/api/me", nil, h); res.StatusCode != http.StatusForbidden {
			t.Errorf("read, %v: got %d", h, res.StatusCode)
		}
	}
}

func TestPageHeaders(t *testing.T) {
	t.Parallel()
	base, _ := serve(t, func(c *config.Config) { c.Plugins.Web = &settings.Web{Embed: []string{"https://shop.test"}} })
	v := visit(t, base)
	for path, frames := range map[string]string{"/chat": "'none'", "/chat?embed=1": "https://shop.test", "/chat/app.js": "'none'", "/chat/widget.js": "'none'"} {
		res := v.do("GET", path, nil, nil)
		h := res.Header
		csp := h.Get("Content-Security-Policy")
		if res.StatusCode != 200 || !strings.HasSuffix(csp, "frame-ancestors "+frames) || !strings.Contains(csp, "require-trusted-types-for 'script'; trusted-types 'none'") ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: got %d %v", path, res.StatusCode, h)
		}
		if res := v.do("GET", path, nil, http.Header{"If-None-Match": {h.Get("Etag")}}); res.StatusCode != http.StatusNotModified {
			t.Errorf("%s again: got %d", path, res.StatusCode)
		}
	}
	if res := v.do("GET", "/chat/nothing.js", nil, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a file that is not there: got %d", res.StatusCode)
	}
	if res := v.do("GET", "/chat/api/me", nil, nil); res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the API may be kept: %v", res.Header)
	}
}

// While NATS is away nothing is taken, and the page is told to come again.
func TestNATSIsAway(t *testing.T) {
	t.Parallel()
	url, server := bustest.Server(t)
	base, _ := serve(t, func(c *config.Config) { c.NATS = bus.Config{URL: url} })
	v := visit(t, base)
	v.say("message-1", "hello")
	v.answered("main", 1)
	server.Stop()
	res := v.post(message("message-2", "are you there?"))
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("while NATS is away: got %d", res.StatusCode)
	}
	server.Restart()
	waittest.Until(t, "the same message is taken", func() bool {
		return v.post(message("message-2", "are you there?")).StatusCode == http.StatusAccepted
	})
	items := v.answered("main", 2)
	if len(items) != 4 {
		t.Errorf("got %+v", items)
	}
}

// Nothing below /chat is served where the page is not configured.
func TestNoPage(t *testing.T) {
	t.Parallel()
	opt := options(t, func(c *config.Config) { c.Plugins.Web = nil })
	h, _ := hosttest.Start(t, opt)
	for _, path := range []string{"/chat", "/chat/api/me", "/chat/app.js"} {
		res, err := http.Get("http://" + h.HTTP() + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %d", path, res.StatusCode)
		}
	}
}
