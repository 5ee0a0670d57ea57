package irc

import (
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"

	"agenthost/plugins"
)

// guest is before the nick of a person who is not logged in, where the server says
// who is: a nick does not pass for an account of the same name.
const guest = "~"

// direct is the talk of all messages that are in no channel.
const direct = "direct"

// A line is what a person has said.
type line struct {
	received plugins.Received
	talk     string // the channel, or direct
	mark     string // where the history goes on behind it; empty: not known
}

// line reads a PRIVMSG. It is false for what is not for people: the account's own
// lines, those of other bots and of the server's services about joins, and what clients ask clients.
func (s *session) line(m ircmsg.Message) (line, bool) {
	nick, target := m.Nick(), s.fold(s.unranked(param(m, 0)))
	_, account := m.GetTag("account")
	if bot, _ := m.GetTag("bot"); bot { // two that answer each other would never end
		return line{}, false
	}
	if nick == "" || len(m.Params) < 2 || s.isMe(nick) || nick == "HistServ" {
		return line{}, false
	}
	text, ok := spoken(decode(m.Params[1]), nick)
	if !ok {
		return line{}, false
	}
	at := sentAt(m)
	r := plugins.Received{From: s.person(nick, account, at), Name: nick, Text: plain(text), SentAt: at}
	l := line{talk: direct}
	if s.isChannel(target) {
		l.talk = target
		r.Chat, r.Group = target, true
		r.Text, r.Mentioned = s.unmention(r.Text)
	}
	r.ID, l.mark = s.name(m, l.talk, nick, at)
	for _, tag := range []string{"+reply", "+draft/reply"} {
		if ok, id := m.GetTag(tag); ok {
			r.ReplyTo = id
		}
	}
	l.received = r
	return l, strings.TrimSpace(r.Text) != ""
}

// unranked is the target of a line without the rank that people in a channel must have to get
// it, as in @#room.
func (s *session) unranked(target string) string {
	if channel := strings.TrimLeft(target, s.support["STATUSMSG"]); s.isChannel(channel) {
		return channel
	}
	return target
}

// spoken is what a PRIVMSG says. Questions of one client to another are no speech.
func spoken(text, nick string) (string, bool) {
	ctcp, ok := strings.CutPrefix(text, "\x01")
	if !ok {
		return text, true
	}
	action, ok := strings.CutPrefix(strings.TrimSuffix(ctcp, "\x01"), "ACTION ")
	return "* " + nick + " " + action, ok
}

// unmention takes the account's nick out of a text.
func (s *session) unmention(text string) (string, bool) {
	rest, found := unmention(text, s.myNick())
	if !found {
		return unmention(text, s.settings.Nick)
	}
	return rest, found
}

// name makes the id of a message, and the place in the history behind it.
func (s *session) name(m ircmsg.Message, talk, nick string, at time.Time) (id, mark string) {
	_, stamp := m.GetTag("time")
	if ok, msgid := m.GetTag("msgid"); ok && msgid != "" {
		return msgid, markOf(msgid, stamp)
	}
	if stamp != "" {
		mark = "timestamp=" + stamp
	}
	s.count++
	return strings.Join([]string{talk, nick, at.UTC().Format(time.RFC3339Nano), strconv.FormatInt(s.began.UnixNano(), 36), strconv.Itoa(s.count)}, "/"), mark
}

// sentAt is when the server has got a line.
func sentAt(m ircmsg.Message) time.Time {
	if ok, stamp := m.GetTag("time"); ok {
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			return at
		}
	}
	return time.Now()
}
