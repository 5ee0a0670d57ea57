package irc

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	pageLines  = 50 // of the history, asked for at once
	pageWithin = time.Minute
	stampForm  = "2006-01-02T15:04:05.000Z"
	// overlap is how far direct messages are read again: the clock of the history
	// counts no finer than two lines may follow each other. Ids show which lines are known.
	overlap = time.Second
	// farAhead is more than the clock of the host is behind that of the server.
	farAhead = 24 * time.Hour
)

// catchUp reads what was said in a channel since the account has read there last.
// On its first day it reads nothing.
func (s *session) catchUp(ctx context.Context, channel string, joined time.Time) error {
	mark, err := s.in.Note(ctx, noteOf(channel))
	if err != nil {
		return err
	}
	if mark == nil {
		err = s.note(ctx, channel, "timestamp="+joined.UTC().Format(stampForm))
	} else {
		err = s.pages(ctx, channel, string(mark), s.hand)
	}
	if err != nil {
		return err
	}
	return s.release(ctx, channel)
}

// catchUpDirect reads what persons have written since.
func (s *session) catchUpDirect(ctx context.Context) error {
	mark, err := s.in.Note(ctx, noteOf(direct))
	if err != nil {
		return err
	}
	since, err := time.Parse(stampForm, stampOf(string(mark)))
	if err != nil {
		if err := s.note(ctx, direct, "timestamp="+s.greeted.UTC().Format(stampForm)); err != nil {
			return err
		}
		return s.release(ctx, direct)
	}
	from := since.Add(-overlap).UTC().Format(stampForm)
	persons, err := s.persons(ctx, from)
	if err != nil {
		return err
	}
	// How far the account has read is noted behind all of them: the next person may have written
	// before the last line of this one.
	latest := string(mark)
	offer := func(ctx context.Context, l line) error {
		if stampOf(l.mark) > stampOf(latest) {
			latest = l.mark
		}
		return s.offer(ctx, l)
	}
	for _, name := range persons {
		if err := s.pages(ctx, name, "timestamp="+from, offer); err != nil {
			return err
		}
	}
	if err := s.note(ctx, direct, latest); err != nil {
		return err
	}
	return s.release(ctx, direct)
}

// persons are those who have written since, page by page: channels count as well.
func (s *session) persons(ctx context.Context, from string) (names []string, err error) {
	known := map[string]bool{}
	to := "timestamp=" + time.Now().Add(farAhead).UTC().Format(stampForm)
	for {
		p, err := s.ask(ctx, "TARGETS", "timestamp="+from, to, strconv.Itoa(s.pageLines()))
		if err != nil {
			return nil, err
		}
		more := false
		for _, t := range p.targets {
			if known[t.name] {
				continue
			}
			known[t.name], more = true, true
			if !s.isChannel(t.name) {
				names = append(names, t.name)
			}
		}
		last, timed := p.lastAt()
		if len(p.targets) < s.pageLines() || !timed {
			return names, nil
		}
		if more { // several may have written at once
			last = last.Add(-time.Millisecond)
		}
		next := last.UTC().Format(stampForm)
		if !more && next <= from { // the server gives the same page again
			return names, nil
		}
		from = next
	}
}

// pages hands on the history of a target behind a mark, line by line.
func (s *session) pages(ctx context.Context, target, mark string, hand func(context.Context, line) error) error {
	for {
		after, stamp, _ := strings.Cut(mark, " ")
		p, err := s.ask(ctx, "AFTER", target, after, strconv.Itoa(s.pageLines()))
		if err == nil && p.refused != nil && stamp != "" {
			// The server may have forgotten the message.
			p, err = s.ask(ctx, "AFTER", target, stamp, strconv.Itoa(s.pageLines()))
		}
		if err != nil {
			return err
		}
		for _, l := range p.lines {
			if err := hand(ctx, l); err != nil {
				return err
			}
		}
		if p.count < s.pageLines() || p.end == "" || p.end == mark {
			return nil
		}
		mark = p.end
	}
}

func (s *session) pageLines() int {
	if n, err := strconv.Atoi(s.support["CHATHISTORY"]); err == nil && n > 0 {
		return min(n, pageLines)
	}
	return pageLines
}

// ask asks for a page. A PING behind the question ends its answer, whatever it is.
func (s *session) ask(ctx context.Context, params ...string) (*page, error) {
	p := &page{done: make(chan struct{})}
	word := s.past.expect(p)
	defer s.past.forget(word)
	if err := s.paced(ctx, "CHATHISTORY", params...); err != nil {
		return nil, err
	}
	if err := s.write("PING", word); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(pageWithin)
	defer timeout.Stop()
	select {
	case <-p.done:
		return p, nil
	case <-timeout.C:
		return nil, fmt.Errorf("the server has not answered for its history within %s", pageWithin)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// release hands on what was said while the history was read.
func (s *session) release(ctx context.Context, talk string) error {
	for {
		held := s.past.release(talk)
		if held == nil {
			return nil
		}
		for _, l := range held {
			if err := s.hand(ctx, l); err != nil {
				return err
			}
		}
	}
}

// note keeps how far a talk is read.
func (s *session) note(ctx context.Context, talk, mark string) error {
	return s.in.SetNote(ctx, noteOf(talk), []byte(mark))
}

// noteOf is a name that every store takes.
func noteOf(talk string) string { return "read-" + base64.RawURLEncoding.EncodeToString([]byte(talk)) }

// stampOf is the time of a mark.
func stampOf(mark string) string {
	_, stamp, _ := strings.Cut(mark, "timestamp=")
	return stamp
}
