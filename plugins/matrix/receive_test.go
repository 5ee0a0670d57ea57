package matrix_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/matrix/matrixtest"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
)

// home is a homeserver with a bot on a host, and Ana and Ben.
type home struct {
	*matrixtest.Server
	host          *plugintest.Host
	bot, ana, ben string
	settings      settings.Matrix
}

func newHome(t *testing.T) *home {
	s := matrixtest.New(t)
	h := &home{Server: s, bot: s.AddUser("bot", "secret"), ana: s.AddUser("ana", ""), ben: s.AddUser("ben", "")}
	h.settings = settings.Matrix{Homeserver: s.URL, User: "bot", Password: "secret"}
	return h
}

func (h *home) start(t *testing.T) plugins.Channel {
	t.Helper()
	ch := newChannel(t, h.settings)
	h.host = plugintest.NewHost(t, ch, settings.Account{Groups: settings.GroupsAll})
	return ch
}

// text is a message with more in its content.
func (h *home) text(room, sender, text string, more map[string]any) string {
	content := map[string]any{"msgtype": "m.text", "body": text}
	maps.Copy(content, more)
	return h.Send(room, sender, "m.room.message", content)
}

func texts(in []bus.Inbound) []string {
	var all []string
	for _, m := range in {
		all = append(all, m.Text)
	}
	return all
}

func TestNothingFromBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	h.Say(room, h.ana, "old")
	h.start(t)
	h.Say(room, h.ana, "new")
	if got := texts(h.host.Inbound(1)); !cmp.Equal(got, []string{"new"}) {
		t.Errorf("the agent got %q", got)
	}
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	tests := map[string]int{"few messages": 3, "more than a sync shows": 120}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.start(t)
			room := h.Room(h.ana, h.ben)
			for i := range before {
				h.Say(room, h.ana, fmt.Sprintf("before %d", i))
			}
			h.FailNext(1, http.MethodPost, "/join/", http.StatusBadGateway, "M_UNKNOWN", "Can't reach the server")
			h.Invite(room, h.ana, h.bot)
			h.Say(room, h.ana, "since the invitation")
			waittest.Until(t, "the bot joins", func() bool { return len(h.Members(room)) == 3 })
			h.Say(room, h.ana, "after")
			got := texts(h.host.Inbound(2))
			if want := []string{"since the invitation", "after"}; !cmp.Equal(got, want) {
				t.Errorf("the agent got %q, want %q", got, want)
			}
		})
	}
}

// Everybody may invite the account, also into rooms that it cannot join: that keeps it from
// reading no other.
func TestInvitationThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	tests := map[string]func(http.ResponseWriter){
		"the connection breaks":       func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"the homeserver limits joins": inAnHour,
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			direct, room := h.Room(h.ana, h.bot), h.Room(h.ben)
			h.start(t)
			tried := h.AnswerNext(1<<20, http.MethodPost, "/join/", answer)
			h.Invite(room, h.ben, h.bot)
			waittest.Until(t, "the bot tries to join", func() bool { return tried() > 0 })
			h.Say(direct, h.ana, "hello")
			h.host.Inbound(1)
			if got := h.host.Courier.Status(); got.State != plugins.StateConnected || got.LastError != "" {
				t.Errorf("the account is %s: %s", got.State, got.LastError)
			}
		})
	}
}

// inAnHour refuses for an hour.
func inAnHour(w http.ResponseWriter) {
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write([]byte(`{"errcode":"M_LIMIT_EXCEEDED","error":"Too Many Requests","retry_after_ms":3600000}`))
}

// An invitation that waits is followed by the next host.
func TestInvitationWaitsForTheNextHost(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.ben)
	h.start(t)
	tried := h.AnswerNext(1, http.MethodPost, "/join/", inAnHour)
	h.Invite(room, h.ana, h.bot)
	waittest.Until(t, "the bot tries to join", func() bool { return tried() == 1 })
	h.host.Stop()
	h.host.Start(newChannel(t, h.settings))
	waittest.Until(t, "the bot joins", func() bool { return len(h.Members(room)) == 3 })
}

func TestWhatWasWrittenWhileNoHostRan(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	h.start(t)
	h.Say(room, h.ana, "first")
	h.host.Inbound(1)
	h.host.Stop()
	const most = 230 // more than a sync and two pages hold
	want := []string{"first"}
	for i := range most {
		want = append(want, fmt.Sprintf("message %d", i))
		h.Say(room, h.ana, want[i+1])
	}
	h.host.Start(newChannel(t, h.settings))
	if diff := cmp.Diff(want, texts(h.host.Inbound(most+1))); diff != "" {
		t.Error(diff)
	}
	if n := h.Logins(); n != 1 {
		t.Errorf("the password was used %d times, want 1", n)
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	h.start(t)
	h.text(room, h.ana, "from a bot", map[string]any{"msgtype": "m.notice"})
	h.text(room, h.bot, "my own", nil)
	h.Send(room, h.ana, "m.room.message", map[string]any{})
	h.Send(room, h.ana, "m.reaction", map[string]any{"m.relates_to": map[string]any{"key": "+1"}})
	h.Send(room, h.ana, "m.room.message", nil)
	h.Send(room, h.ana, "m.room.message", map[string]any{"msgtype": "m.text", "body": nil, "m.relates_to": nil, "m.mentions": nil})
	h.Send(room, h.ana, "m.room.message", map[string]any{"msgtype": "m.text", "body": 1e300})
	h.Send(room, h.ana, "m.room.member", map[string]any{"membership": nil})
	h.Send(room, h.ana, "m.room.encrypted", nil)
	h.text(room, h.ana, "waves", map[string]any{"msgtype": "m.emote"})
	if got := texts(h.host.Inbound(1)); !cmp.Equal(got, []string{"* ana waves"}) {
		t.Errorf("the agent got %q", got)
	}
}

// Whatever a member puts into the state of a room, the account reads on.
func TestOddStateOfARoom(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	h.start(t)
	for range 2 { // the second shows the first as what was there before
		h.SetState(room, h.ana, "test.odd", "", map[string]any{"membership": 5})
	}
	h.Say(room, h.ana, "hello")
	if got := texts(h.host.Inbound(1)); !cmp.Equal(got, []string{"hello"}) {
		t.Errorf("the agent got %q", got)
	}
}

func TestDirectAndGroup(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	direct, group := h.Room(h.ana, h.bot), h.Room(h.ana, h.ben, h.bot)
	h.start(t)
	h.Say(direct, h.ana, "alone")
	h.host.Inbound(1)
	h.Say(group, h.ana, "among us")
	h.host.Inbound(2)
	h.Remove(group, h.ben)
	h.Say(group, h.ana, "alone there")
	in := h.host.Inbound(3)
	for i, want := range []bus.Inbound{
		{From: h.ana, Name: "ana", Chat: direct, Text: "alone"},
		{From: h.ana, Name: "ana", Chat: group, Group: true, Text: "among us"},
		{From: h.ana, Name: "ana", Chat: group, Text: "alone there"},
	} {
		got := bus.Inbound{From: in[i].From, Name: in[i].Name, Chat: in[i].Chat, Group: in[i].Group, Text: in[i].Text}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if in[i].SentAt == "" {
			t.Errorf("no time in %+v", in[i])
		}
	}
}

func TestThreadsRepliesAndEdits(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.ben, h.bot)
	h.start(t)
	root := h.text(room, h.ana, "root", nil)
	inThread := h.text(room, h.ben, "in the thread", map[string]any{"m.relates_to": map[string]any{
		"rel_type": "m.thread", "event_id": root, "is_falling_back": true, "m.in_reply_to": map[string]any{"event_id": root},
	}})
	h.text(room, h.ana, "> <@ana:test> root\n> more\n\nquoted", map[string]any{"m.relates_to": map[string]any{"m.in_reply_to": map[string]any{"event_id": root}}})
	h.text(room, h.ben, "* better", map[string]any{
		"m.relates_to":  map[string]any{"rel_type": "m.replace", "event_id": inThread},
		"m.new_content": map[string]any{"msgtype": "m.text", "body": "better"},
	})
	in := h.host.Inbound(4)
	var got []bus.Inbound
	for _, m := range in {
		got = append(got, bus.Inbound{Text: m.Text, Thread: m.Thread, ReplyTo: m.ReplyTo, Edits: m.Edits})
	}
	want := []bus.Inbound{
		{Text: "root"}, {Text: "in the thread", Thread: root}, {Text: "quoted", ReplyTo: root}, {Text: "better", Thread: root, Edits: inThread},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEncryptedRoomIsToldOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	h.start(t)
	for range 2 {
		h.Send(room, h.ana, "m.room.encrypted", map[string]any{"algorithm": "m.megolm.v1.aes-sha2"})
	}
	h.Say(room, h.ana, "in clear")
	h.host.Inbound(1)
	h.host.Stop()
	h.Send(room, h.ana, "m.room.encrypted", map[string]any{"algorithm": "m.megolm.v1.aes-sha2"})
	h.host.Start(newChannel(t, h.settings))
	h.Say(room, h.ana, "in clear again")
	h.host.Inbound(2)
	sent := h.Messages(room, h.bot)
	if len(sent) != 1 || sent[0].Content["msgtype"] != "m.notice" || !strings.Contains(sent[0].Content["body"].(string), "encrypted") {
		t.Errorf("the bot said %+v", sent)
	}
}

func TestFilesOfPeople(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(h *home)
		file    matrixtest.File
		gone    bool
		text    string
		want    string
	}{
		"an image":                    {file: matrixtest.File{Name: "a.png", MIME: "image/png", Data: []byte("png")}, want: "png"},
		"a homeserver from before":    {prepare: func(h *home) { h.OldMedia() }, file: matrixtest.File{Name: "a.png", MIME: "image/png", Data: []byte("png")}, want: "png"},
		"larger than is allowed":      {file: matrixtest.File{Name: "a.png", MIME: "image/png", Data: make([]byte, 21<<20)}, text: "a.png"},
		"no longer on the homeserver": {file: matrixtest.File{Name: "a.png", MIME: "image/png"}, gone: true, text: "a.png"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			if tt.prepare != nil {
				tt.prepare(h)
			}
			room := h.Room(h.ana, h.bot)
			h.start(t)
			address := "mxc://test/gone"
			if !tt.gone {
				address = h.AddFile(tt.file)
			}
			// The size that a client claims does not count.
			h.text(room, h.ana, tt.file.Name, map[string]any{"msgtype": "m.image", "url": address, "info": map[string]any{"mimetype": tt.file.MIME, "size": 1}})
			in := h.host.Inbound(1)[0]
			if tt.want == "" {
				if len(in.Media) != 0 || !strings.Contains(in.Text, tt.text) {
					t.Errorf("the agent got %+v", in)
				}
				return
			}
			if in.Text != "" || len(in.Media) != 1 || in.Media[0].Kind != "image" || in.Media[0].Name != "a.png" {
				t.Fatalf("the agent got %+v", in)
			}
			if got := h.host.File(in.Media[0].Object); string(got) != tt.want {
				t.Errorf("the file is %q, want %q", got, tt.want)
			}
		})
	}
}

// A file that always breaks off, or that the homeserver never has from another, holds up nothing
// for good: the message comes without it.
func TestFileThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	breaks := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	fails := func(w http.ResponseWriter) { http.Error(w, "bad gateway", http.StatusBadGateway) }
	tests := map[string]struct {
		broken int
		answer func(http.ResponseWriter)
		media  int
	}{"once": {1, breaks, 1}, "always": {1 << 20, breaks, 0}, "502 once": {1, fails, 1}, "502 always": {1 << 20, fails, 0}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			room, other := h.Room(h.ana, h.bot), h.Room(h.ben, h.bot)
			h.start(t)
			h.AnswerNext(tt.broken, http.MethodGet, "/media/download/", tt.answer)
			address := h.AddFile(matrixtest.File{Name: "a.png", MIME: "image/png", Data: []byte("png")})
			h.text(room, h.ana, "a.png", map[string]any{"msgtype": "m.image", "url": address})
			h.Say(room, h.ana, "and?")
			h.Say(other, h.ben, "hello")
			in := h.host.Inbound(3)
			i := slices.IndexFunc(in, func(m bus.Inbound) bool { return m.From == h.ana })
			if got := in[i]; len(got.Media) != tt.media || tt.media == 0 && !strings.Contains(got.Text, "a.png") {
				t.Errorf("the agent got %+v", got)
			}
		})
	}
}

func TestMessageThatIsTooLarge(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	h.start(t)
	h.Say(room, h.ana, strings.Repeat("x", 2<<20))
	waittest.Until(t, "the bot says so", func() bool { return len(h.Messages(room, h.bot)) == 1 })
	h.Say(room, h.ana, "short")
	if got := texts(h.host.Inbound(1)); !cmp.Equal(got, []string{"short"}) {
		t.Errorf("the agent got %q", got)
	}
}
