package irc

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/irc/irctest"
	"agenthost/plugins/settings"
)

const few = "server-time"

func plainText() *bool { no := false; return &no }

func account(s *irctest.Server, change func(*settings.IRC)) settings.IRC {
	account := settings.IRC{Server: s.Address(), TLS: plainText(), Nick: "bot", Join: []string{"#Room"}, Rate: 1000}
	if change != nil {
		change(&account)
	}
	return account
}

// started is a channel that is logged in and in its room.
func started(t *testing.T, s *irctest.Server) (*Channel, *memory) {
	t.Helper()
	in, c := &memory{}, channel(t, account(s, nil))
	serve(t, c, in)
	waittest.Until(t, "the account is in its channel", func() bool { return in.name() == "bot" && len(s.Lines("JOIN")) > 0 })
	return c, in
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		account settings.IRC
		want    string
	}{
		"no port":      {settings.IRC{Server: "irc.test", Nick: "bot"}, "host:port"},
		"no nick":      {settings.IRC{Server: "irc.test:6697"}, "nick"},
		"injected":     {settings.IRC{Server: "irc.test:6697", Nick: "bot\r\nQUIT"}, "nick"},
		"no channel":   {settings.IRC{Server: "irc.test:6697", Nick: "bot", Join: []string{"room"}}, "such as #room"},
		"two channels": {settings.IRC{Server: "irc.test:6697", Nick: "bot", Join: []string{"#a,#b"}}, "such as #room"},
		"rate":         {settings.IRC{Server: "irc.test:6697", Nick: "bot", Rate: -1}, "above 0"},
		"password":     {settings.IRC{Server: "irc.test:6697", Nick: "bot", Password: "a\nb"}, "line breaks"},
		"no file":      {settings.IRC{Server: "irc.test:6697", Nick: "bot", CA: "/nowhere"}, "ca:"},
		"no PEM":       {settings.IRC{Server: "irc.test:6697", Nick: "bot", CA: "irc.go"}, "no certificate"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := New(tt.account); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	password := func(word string) func(*settings.IRC) {
		return func(a *settings.IRC) { a.Password = word }
	}
	tests := map[string]struct {
		caps    string
		answers map[string]string
		change  func(*settings.IRC)
		as      string
		err     string
		login   bool // it is a LoginError
		sent    string
	}{
		"plain":               {caps: "", as: "bot"},
		"SASL":                {caps: irctest.AllCaps, change: password("pw"), as: "bot", sent: "AUTHENTICATE"},
		"wrong password":      {caps: irctest.AllCaps, change: password("no"), err: "SASL authentication failed", login: true},
		"no PLAIN":            {caps: "sasl=EXTERNAL", change: password("pw"), err: "not PLAIN", login: true},
		"server password":     {caps: few, change: password("pw"), as: "bot", sent: "PASS"},
		"wrong server's":      {caps: few, answers: map[string]string{"PASS": ":s 464 * :Password incorrect"}, change: password("pw"), err: "Password incorrect", login: true},
		"banned":              {caps: few, answers: map[string]string{"NICK": "ERROR :Closing Link: K-Lined"}, err: "K-Lined", login: true},
		"full":                {caps: few, answers: map[string]string{"NICK": "ERROR :Closing Link: too many connections"}, err: "too many"},
		"nick refused":        {caps: few, answers: map[string]string{"NICK": ":s 432 * bot :Erroneous nickname"}, err: "Erroneous", login: true},
		"all nicks in use":    {caps: few, answers: map[string]string{"CAP": ":s 421 * CAP :Unknown command", "NICK": ":s 433 * bot :in use"}, err: "are in use"},
		"a server of the 90s": {answers: map[string]string{"CAP": ":s 421 * CAP :Unknown command", "USER": ":s 001 bot :Welcome\r\n:s 422 bot :no MOTD"}, as: "bot"},
		"refuses all":         {caps: few, answers: map[string]string{"CAP": ":s CAP * NAK :x", "USER": ":s 001 bot :Welcome\r\n:s 422 bot :no MOTD"}, as: "bot"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := irctest.New(t, tt.caps)
			maps.Copy(s.Answers, tt.answers)
			s.Answers["QUIT"] = "ERROR :bye"
			as, err := channel(t, account(s, tt.change)).Check(t.Context())
			if tt.err == "" && (err != nil || as != tt.as) {
				t.Fatalf("got %q, %v", as, err)
			}
			if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("got %v, want %q", err, tt.err)
			}
			if _, ok := errors.AsType[*plugins.LoginError](err); ok != tt.login {
				t.Errorf("%v: is a LoginError: %v", err, ok)
			}
			if tt.sent != "" && len(s.Lines(tt.sent)) == 0 {
				t.Errorf("no %s was sent", tt.sent)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil)
	web.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	s := irctest.On(t, l, irctest.AllCaps)
	s.Answers["QUIT"] = "ERROR :bye"
	secure := func(ca string) settings.IRC {
		return account(s, func(a *settings.IRC) { a.TLS, a.CA, a.Password = nil, ca, "pw" })
	}
	if _, err := channel(t, secure("")).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unsigned certificate: %v", err)
	}
	if as, err := channel(t, secure(ca)).Check(t.Context()); err != nil || as != "bot" {
		t.Errorf("got %q, %v", as, err)
	}
}

func TestNickInUse(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, few)
	s.Taken = "bot"
	in := &memory{}
	serve(t, channel(t, account(s, nil)), in)
	waittest.Until(t, "the other nick is said", func() bool { return strings.Contains(in.name(), "bot_ (the nick bot is in use)") })
	s.Say(":ana!a@h PRIVMSG #room :bot_: hello")
	if m := in.next(t, 1); !m.Mentioned || m.Text != "hello" {
		t.Errorf("by the other nick: %+v", m)
	}
	s.Say(":bot_!b@h NICK bot")
	waittest.Until(t, "its own nick again", func() bool { return !strings.Contains(in.name(), "in use") })
}

// An account that stops waits until the server has let it go: else the next login, a moment
// later, would find its nick in use.
func TestStopFreesTheNick(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, few)
	stopped, gone, early := make(chan struct{}), make(chan struct{}), false
	s.Quits = func() {
		defer close(gone)
		select {
		case <-stopped:
			early = true
		case <-time.After(200 * time.Millisecond):
		}
	}
	in := &memory{}
	stop := serve(t, channel(t, account(s, nil)), in)
	waittest.Until(t, "logged in", func() bool { return in.name() != "" })
	stop()
	close(stopped)
	<-gone
	if early {
		t.Error("it has stopped while the server had its nick in use")
	}
}

func TestReceived(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		caps, line string
		want       plugins.Received
	}{
		"direct":         {few, ":Ana!a@h PRIVMSG bot :hi", plugins.Received{From: "ana", Name: "Ana", Text: "hi"}},
		"account":        {irctest.AllCaps, "@msgid=x1;account=Ana :nick!a@h PRIVMSG bot :hi", plugins.Received{ID: "x1", From: "ana", Name: "nick", Text: "hi"}},
		"not logged in":  {irctest.AllCaps, "@msgid=x1 :Ana!a@h PRIVMSG bot :hi", plugins.Received{ID: "x1", From: "~ana", Name: "Ana", Text: "hi"}},
		"account *":      {irctest.AllCaps, "@msgid=x1;account=* :Ana!a@h PRIVMSG bot :hi", plugins.Received{ID: "x1", From: "~ana", Name: "Ana", Text: "hi"}},
		"channel":        {few, ":ana!a@h PRIVMSG #Room :hi all", plugins.Received{From: "ana", Name: "ana", Chat: "#room", Group: true, Text: "hi all"}},
		"mention":        {few, ":ana!a@h PRIVMSG #Room :BOT, hi", plugins.Received{From: "ana", Name: "ana", Chat: "#room", Group: true, Text: "hi", Mentioned: true}},
		"reply":          {irctest.AllCaps, "@msgid=x2;+draft/reply=x1 :ana!a@h PRIVMSG #room :yes", plugins.Received{ID: "x2", From: "~ana", Name: "ana", Chat: "#room", Group: true, Text: "yes", ReplyTo: "x1"}},
		"action":         {few, ":ana!a@h PRIVMSG bot :\x01ACTION waves\x01", plugins.Received{From: "ana", Name: "ana", Text: "* ana waves"}},
		"colours":        {few, ":ana!a@h PRIVMSG bot :\x02a\x02 \x0304,12b\x03 \x04ff0000c", plugins.Received{From: "ana", Name: "ana", Text: "a b c"}},
		"latin 1":        {few, ":ana!a@h PRIVMSG bot :gr\xfc\xdfe", plugins.Received{From: "ana", Name: "ana", Text: "grüße"}},
		"CTCP":           {few, ":ana!a@h PRIVMSG bot :\x01VERSION\x01", plugins.Received{}},
		"own":            {few, ":bot!a@h PRIVMSG #room :hi", plugins.Received{}},
		"notice":         {few, ":ana!a@h NOTICE bot :hi", plugins.Received{}},
		"HistServ":       {few, ":HistServ!a@h PRIVMSG #room :ana joined", plugins.Received{}},
		"nothing":        {few, ":ana!a@h PRIVMSG bot :\x02", plugins.Received{}},
		"of the server":  {few, "PRIVMSG bot :hi", plugins.Received{}},
		"too few params": {few, ":ana!a@h PRIVMSG bot", plugins.Received{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := irctest.New(t, tt.caps)
			_, in := started(t, s)
			s.Say("%s", tt.line)
			s.Say(":end!a@h PRIVMSG bot :end")
			want := tt.want
			if want.Text == "" {
				if m := in.next(t, 1); m.Text != "end" {
					t.Errorf("taken: %+v", m)
				}
				return
			}
			got := in.next(t, 1)
			if got.ID == "" || got.SentAt.IsZero() {
				t.Errorf("id %q at %s", got.ID, got.SentAt)
			}
			if want.ID == "" {
				want.ID = got.ID
			}
			want.SentAt = got.SentAt
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	for name, caps := range map[string]string{"by label": irctest.AllCaps, "by PING": few} {
		t.Run(name, func(t *testing.T) {
			s := irctest.New(t, caps)
			c, in := started(t, s)
			s.Say("@account=ana :ana_!a@h PRIVMSG bot :hi")
			from := in.next(t, 1).From
			id := deliver(t, c, plugins.Message{Place: plugins.Place{To: from}, Text: "one\r\nQUIT :two\x00\x01"})
			if (id != "") != (caps == irctest.AllCaps) {
				t.Errorf("id %q", id)
			}
			if got := s.Lines("PRIVMSG"); len(got) != 1 || !strings.HasSuffix(got[0], "PRIVMSG ana_ :one QUIT :two") {
				t.Errorf("sent %q", got)
			}
			deliver(t, c, plugins.Message{Place: plugins.Place{To: "~ben"}, File: &plugins.File{Name: "a.png", URL: "https://x.test/a.png"}})
			if got := s.Lines("PRIVMSG")[1]; !strings.HasSuffix(got, "PRIVMSG ben :[a.png] https://x.test/a.png") {
				t.Errorf("sent %q", got)
			}
		})
	}
}

func TestDeliverCutsWhatIsTooLong(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, few)
	c, _ := started(t, s)
	text := strings.Repeat("€", 500)
	deliver(t, c, plugins.Message{Place: plugins.Place{Chat: "#" + strings.Repeat("x", 100)}, Text: text})
	var got strings.Builder
	for _, line := range s.Lines("PRIVMSG") {
		if len(":bot___!1234567890@"+line)+63 > lineLength {
			t.Errorf("%d bytes", len(line))
		}
		piece := line[strings.LastIndex(line, "x ")+2:]
		if !utf8.ValidString(piece) {
			t.Errorf("cut inside a rune: %q", piece)
		}
		got.WriteString(piece)
	}
	if got.String() != text {
		t.Errorf("got %q", got.String())
	}
}

func TestDeliverIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		caps, answer, target string
		permanent            bool
		want                 string
	}{
		"no such nick":        {few, ":s 401 bot ben :No such nick", "ben", false, "No such nick"},
		"with a label":        {irctest.AllCaps, "@label=out-1 :s 401 bot ben :No such nick", "~ben", false, "No such nick"},
		"in a batch":          {irctest.AllCaps, "@label=out-1 :s BATCH +1 labeled-response\r\n@batch=1 :s 404 bot ben :Cannot\r\n:s BATCH -1", "~ben", false, "Cannot"},
		"takes no messages":   {few, ":s 531 bot ben :Not from you", "ben", true, "Not from you"},
		"standard reply":      {irctest.AllCaps, "@label=out-1 FAIL PRIVMSG X ben :No", "~ben", false, "No"},
		"two targets":         {few, "", "ana,ben", true, "no nick"},
		"everybody":           {few, "", "$*", true, "no nick"},
		"more than one line":  {few, "", "ana\r\nQUIT", true, "no nick"},
		"no target":           {few, "", "", true, "no nick"},
		"connection is lost":  {irctest.AllCaps, "ERROR :bye", "~ben", false, "lost"},
		"connection is ended": {few, "ERROR :bye", "ben", false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := irctest.New(t, tt.caps)
			c, _ := started(t, s)
			s.Answer("PRIVMSG", tt.answer)
			_, err := c.Deliver(t.Context(), plugins.Message{Place: plugins.Place{To: tt.target}, Text: "x"})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if _, ok := errors.AsType[*plugins.PermanentError](err); ok != tt.permanent {
				t.Errorf("%v: permanent %v", err, ok)
			}
		})
	}
}

func TestDeliverByBatchOfAnAwayPerson(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, irctest.AllCaps)
	c, _ := started(t, s)
	s.Answer("PRIVMSG", "@label=out-1 :s BATCH +1 labeled-response\r\n@batch=1;msgid=m1 :bot!b@h PRIVMSG ben :x\r\n@batch=1 :s 301 bot ben :I am away\r\n:s BATCH -1")
	if id, err := c.Deliver(t.Context(), plugins.Message{Place: plugins.Place{To: "~ben"}, Text: "x"}); err != nil || id != "m1" {
		t.Errorf("got %q, %v", id, err)
	}
}

func TestDeliverWithoutConnection(t *testing.T) {
	t.Parallel()
	if _, err := channel(t, settings.IRC{Server: "irc.test:6697", Nick: "bot"}).Deliver(t.Context(), plugins.Message{}); err == nil {
		t.Error("delivered")
	}
}

func TestKickIsSaid(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, few)
	_, in := started(t, s)
	s.Say(":op!o@h KICK #room bot :behave")
	waittest.Until(t, "the kick is said", func() bool {
		return strings.Contains(in.name(), "not in #Room: kicked by op (behave); next try within five minutes")
	})
	s.Say(":bot!b@h JOIN #room")
	waittest.Until(t, "it is back", func() bool { return in.name() == "bot" })
	s.Say(":s 474 bot #room :Cannot join channel (+b)")
	waittest.Until(t, "the ban is said", func() bool { return strings.Contains(in.name(), "Cannot join channel (+b)") })
}

func TestPersonsChangeTheirNick(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, irctest.AllCaps)
	s.Accounts = map[string]string{"ana": "Ana"}
	c, in := started(t, s)
	s.Say("@account=ana;msgid=1 :one!a@h PRIVMSG bot :hi")
	in.next(t, 1)
	s.Say(":one!a@h NICK two")
	s.Say("@msgid=2 :x!a@h PRIVMSG bot :then")
	in.next(t, 2)
	deliver(t, c, plugins.Message{Place: plugins.Place{To: "ana"}, Text: "x"})
	s.Say(":two!a@h QUIT :bye")
	s.Say("@msgid=3 :x!a@h PRIVMSG bot :then")
	in.next(t, 3)
	deliver(t, c, plugins.Message{Place: plugins.Place{To: "ana"}, Text: "x"})
	if got := s.Lines("PRIVMSG"); !strings.Contains(got[0], " two ") || !strings.Contains(got[1], " ana ") {
		t.Errorf("sent to %q", got)
	}
}

// What was said while the connection was lost comes first, and what is said
// meanwhile after it.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, irctest.AllCaps)
	s.History = func(p []string) []string {
		switch {
		case p[0] == "TARGETS":
			return []string{"@batch=h :s CHATHISTORY TARGETS ana 2026-01-01T00:00:00.000Z", "@batch=h :s CHATHISTORY TARGETS #room 2026-01-01T00:00:00.000Z"}
		case p[1] == "ana":
			return []string{"@batch=h;msgid=d1 :ana!a@h PRIVMSG bot :direct"}
		case p[2] == "msgid=m0":
			return []string{
				":ben!a@h PRIVMSG #room :live",
				"@batch=h;msgid=m1 :ana!a@h PRIVMSG #room :one",
				"@batch=h;msgid=m2 :HistServ!a@h PRIVMSG #room :ben joined", "@batch=h;msgid=m3 :ana!a@h PRIVMSG #room :two",
			}
		case p[2] == "msgid=m3":
			return []string{"@batch=h;msgid=m4 :ana!a@h PRIVMSG #room :three"}
		}
		return nil
	}
	in := &memory{notes: map[string][]byte{
		noteOf("#room"): []byte(markOf("m0", "2026-01-01T00:00:00.000Z")), noteOf(direct): []byte(markOf("d0", "2026-01-01T00:00:00.000Z")),
	}}
	serve(t, channel(t, account(s, nil)), in)
	in.next(t, 5)
	got := map[string]bool{}
	var room []string
	for _, m := range in.messages() {
		got[m.Text] = true
		if m.Group {
			room = append(room, m.Text)
		}
	}
	if !got["direct"] || strings.Join(room, " ") != "one two three live" {
		t.Errorf("got %v", room)
	}
}

// A server may bring what is said in a channel before it says that the account is in it.
// That comes behind the history: whoever noted it first would pass over what is there.
func TestHistoryBeforeTheJoinIsSaid(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, irctest.AllCaps)
	s.Answers["JOIN"] = "@msgid=m2 :ben!a@h PRIVMSG #room :live\r\n:%s!b@h JOIN #Room"
	s.History = func(p []string) []string {
		if p[0] == "AFTER" && p[2] == "msgid=m0" {
			return []string{"@batch=h;msgid=m1 :ana!a@h PRIVMSG #room :missed"}
		}
		return nil
	}
	in := &memory{notes: map[string][]byte{noteOf("#room"): []byte(markOf("m0", "2026-01-01T00:00:00.000Z"))}}
	serve(t, channel(t, account(s, nil)), in)
	in.next(t, 2)
	if got := in.messages(); got[0].Text != "missed" || got[1].Text != "live" {
		t.Errorf("got %+v", got)
	}
}

// A message may come while the server still greets.
func TestMessageAmidTheGreeting(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, "")
	s.Answers["CAP"] = ":s 421 * CAP :Unknown command"
	s.Answers["USER"] = ":s 001 bot :Welcome\r\n:ana!a@h PRIVMSG bot :early\r\n:s 376 bot :End"
	in := &memory{}
	serve(t, channel(t, account(s, nil)), in)
	if m := in.next(t, 1); m.Text != "early" || m.From != "ana" {
		t.Errorf("got %+v", m)
	}
}

func TestHistoryThatForgot(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, irctest.AllCaps)
	s.History = func(p []string) []string {
		if strings.HasPrefix(p[2], "timestamp=") && p[0] == "AFTER" {
			return []string{"@batch=h;msgid=m1 :ana!a@h PRIVMSG #room :one"}
		}
		return []string{"FAIL CHATHISTORY INVALID_MSGREFTYPE AFTER #room :unknown"}
	}
	in := &memory{notes: map[string][]byte{noteOf("#room"): []byte(markOf("gone", "2026-01-01T00:00:00.000Z"))}}
	serve(t, channel(t, account(s, nil)), in)
	if m := in.next(t, 1); m.Text != "one" {
		t.Errorf("got %+v", m)
	}
}

func TestReconnectsAndJoinsAgain(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, few)
	_, in := started(t, s)
	s.HangUp()
	waittest.Until(t, "it joins again", func() bool { return len(s.Lines("JOIN")) == 2 })
	s.Say(":ana!a@h PRIVMSG #room :after")
	if m := in.next(t, 1); m.Text != "after" {
		t.Errorf("got %+v", m)
	}
}

// PING is answered while NATS is away.
func TestNATSIsAway(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, few)
	_, in := started(t, s)
	in.mu.Lock()
	in.away = true
	in.mu.Unlock()
	for i := range 10 {
		s.Say(":ana!a@h PRIVMSG bot :%d", i)
	}
	s.Say("PING :still")
	waittest.Until(t, "PONG", func() bool { return len(s.Lines("PONG")) == 1 })
	if got := in.messages(); len(got) != 0 {
		t.Errorf("taken: %v", got)
	}
}

func TestOddLinesHarmNothing(t *testing.T) {
	t.Parallel()
	s := irctest.New(t, few)
	_, in := started(t, s)
	for _, line := range []string{"", "@", ":", "@a=b", ":x", "KICK", "JOIN", "NICK", "471", "BATCH", "FAIL", "PONG", "001", ":x!y@z PRIVMSG", "@batch=x :a!b@c CHATHISTORY", strings.Repeat("x", 40000), strings.Repeat("y", 10<<20), "CAP * LS", "AUTHENTICATE", "005 bot CHATHISTORY=-1", "BATCH +x chathistory", ":\xff!a@b PRIVMSG"} {
		s.Say("%s", line)
	}
	s.Say(":ana!a@h PRIVMSG bot :end")
	if m := in.next(t, 1); m.Text != "end" {
		t.Errorf("got %+v", m)
	}
}

func TestUnmention(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, want string
		found      bool
	}{
		"colon":         {"bot: what is up", "what is up", true},
		"comma":         {"Bot, what is up", "what is up", true},
		"at":            {"@bot what is up", "what is up", true},
		"within":        {"tell me, bot, what is up", "tell me, what is up", true},
		"at the end":    {"are you there, bot?", "are you there?", true},
		"twice":         {"bot: bot is a word", "is a word", true},
		"alone":         {"bot?", "bot?", true},
		"other word":    {"robots and bots", "robots and bots", false},
		"other nick":    {"bot_ is here, bot-2 as well", "bot_ is here, bot-2 as well", false},
		"none":          {"hello", "hello", false},
		"other letters": {"ébot", "ébot", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, found := unmention(tt.text, "bot"); got != tt.want || found != tt.found {
				t.Errorf("got %q, %v", got, found)
			}
		})
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	got := (&Channel{}).Limits().Render("**a** *b* ~~c~~ `d`\n\n# e\n\n- f")
	if want := "\x02a\x02 \x1db\x1d \x1ec\x1e \x11d\x11\n\x02e\x02\n• f"; got != want {
		t.Errorf("got %q", got)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("\x0304,12b\x03 \x04ff0000c", "bot", 10)
	f.Add("bot: \xff", "bot", 0)
	f.Fuzz(func(t *testing.T, text, nick string, n int) {
		if nick == "" {
			return
		}
		if got := strings.Join(cut(text, n), ""); got != text {
			t.Errorf("cut %q: %q", text, got)
		}
		unmention(plain(decode(text)), nick)
		_ = fmt.Sprint(fold(text, ""))
	})
}
