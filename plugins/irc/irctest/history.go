package irctest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// past is a line that was written, for the history.
type past struct {
	nick, target, text, id, stamp string
}

const stampForm = "2006-01-02T15:04:05.000Z"

// Write has a person say something, to the account or in a channel. Who is not
// connected finds it in the history.
func (s *Server) Write(nick, target, text string) {
	s.mu.Lock()
	s.ids++
	line := past{nick, target, text, fmt.Sprintf("in%d", s.ids), stamp(s.Ahead + time.Duration(s.ids)*time.Millisecond)}
	s.past = append(s.past, line)
	s.mu.Unlock()
	s.Say("%s", line.line(""))
}

// stamp is the time of a clock that is ahead.
func stamp(ahead time.Duration) string { return time.Now().Add(ahead).UTC().Format(stampForm) }

func (p past) line(batch string) string {
	return fmt.Sprintf("@%smsgid=%s;time=%s;account=%s :%s!u@h PRIVMSG %s :%s", batch, p.id, p.stamp, p.nick, p.nick, p.target, p.text)
}

// Said are the texts that the account has sent to a person or in a channel.
func (s *Server) Said(target string) (texts []string) {
	for _, line := range s.Lines("PRIVMSG") {
		_, said, _ := strings.Cut(line, "PRIVMSG ")
		to, text, _ := strings.Cut(said, " ")
		if to == target {
			texts = append(texts, strings.TrimPrefix(text, ":"))
		}
	}
	return texts
}

// remembered are the lines of a page of the history, without those of the account.
func (s *Server) remembered(params []string) (lines []string) {
	if len(params) < 3 {
		return nil
	}
	if params[0] == "TARGETS" {
		return s.targets(strings.TrimPrefix(params[1], "timestamp="), strings.TrimPrefix(params[2], "timestamp="))
	}
	kind, from, _ := strings.Cut(params[2], "=")
	behind := kind == "timestamp"
	for _, p := range s.past {
		mine := p.target == params[1] || p.nick == params[1] && !strings.HasPrefix(p.target, "#")
		if mine && behind && (kind == "msgid" || p.stamp > from) && len(lines) < pageLines {
			lines = append(lines, p.line("batch=h;"))
		}
		behind = behind || p.id == from
	}
	return lines
}

// pageLines is what ISUPPORT says.
const pageLines = 3

// targets are those who have written between two times, with when they have last.
func (s *Server) targets(from, to string) (lines []string) {
	last := map[string]string{}
	for _, p := range s.past {
		if !strings.HasPrefix(p.target, "#") {
			last[p.nick] = p.stamp
		}
	}
	nicks := slices.SortedFunc(maps.Keys(last), func(a, b string) int { return cmp.Or(cmp.Compare(last[a], last[b]), cmp.Compare(a, b)) })
	for _, nick := range nicks {
		if stamp := last[nick]; from < stamp && stamp < to && len(lines) < pageLines {
			lines = append(lines, fmt.Sprintf("@batch=h :s CHATHISTORY TARGETS %s %s", nick, stamp))
		}
	}
	return lines
}
