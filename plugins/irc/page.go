package irc

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// A history is what is asked of the server's history. Lines that are said meanwhile
// are held, so that the mark of how far the account has read passes over nothing.
type history struct {
	mu    sync.Mutex
	held  map[string][]line // by talk; present while its history is read
	pages map[string]*page  // by the word of the PING behind the question
}

// A page is the answer to one question.
type page struct {
	batch   string
	lines   []line
	count   int    // of lines, also of those that no agent gets
	end     string // the mark of the last line
	targets []target
	refused error
	done    chan struct{}
}

// A target is who has written, and when last.
type target struct{ name, stamp string }

// lastAt is when the last target wrote, if the server says it.
func (p *page) lastAt() (at time.Time, ok bool) {
	if len(p.targets) == 0 {
		return at, false
	}
	at, err := time.Parse(stampForm, p.targets[len(p.targets)-1].stamp)
	return at, err == nil
}

func (h *history) expect(p *page) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	word := "page-" + strconv.Itoa(len(h.pages)+1)
	h.pages[word] = p
	return word
}

func (h *history) forget(word string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pages, word)
}

// begin holds the lines of a talk from now on.
func (h *history) begin(talk string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[talk] == nil {
		h.held[talk] = []line{}
	}
}

// hold keeps a line while the history of its talk is read.
func (h *history) hold(l line) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines, ok := h.held[l.talk]
	if ok {
		h.held[l.talk] = append(lines, l)
	}
	return ok
}

// release returns the lines that were held, and nil when there are no more: from
// then on none is held.
func (h *history) release(talk string) []line {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.held[talk]
	if len(lines) == 0 {
		delete(h.held, talk)
		return nil
	}
	h.held[talk] = []line{}
	return lines
}

// open is the page that is being answered. The taker asks for one after the other.
func (h *history) open() *page {
	for _, p := range h.pages {
		return p
	}
	return nil
}

// batch follows the beginning of a batch.
func (h *history) batch(m ircmsg.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ref, ok := strings.CutPrefix(param(m, 0), "+")
	if p := h.open(); ok && p != nil && strings.Contains(param(m, 1), "chathistory") {
		p.batch = ref
	}
}

// add keeps a line of a page. It is false for a line that is not a message.
func (h *history) add(m ircmsg.Message, l line, forPeople bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pageOf(m)
	if p == nil {
		return false
	}
	p.count++
	if ok, msgid := m.GetTag("msgid"); ok {
		_, stamp := m.GetTag("time")
		p.end = markOf(msgid, stamp)
	}
	if forPeople {
		p.lines = append(p.lines, l)
	}
	return true
}

// name keeps who has written, or answers that it is known where that was asked.
func (h *history) name(m ircmsg.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.pageOf(m); p != nil && param(m, 0) == "TARGETS" {
		p.targets = append(p.targets, target{param(m, 1), param(m, 2)})
	}
}

func (h *history) fail(m ircmsg.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.open(); p != nil && param(m, 0) == "CHATHISTORY" {
		p.refused = errors.New(last(m))
	}
}

// end ends a page.
func (h *history) end(word string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.pages[word]; p != nil {
		delete(h.pages, word)
		close(p.done)
	}
}

// has reports whether a line is one of a page.
func (h *history) has(m ircmsg.Message) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pageOf(m) != nil
}

func (h *history) pageOf(m ircmsg.Message) *page {
	ok, ref := m.GetTag("batch")
	if p := h.open(); ok && p != nil && p.batch == ref {
		return p
	}
	return nil
}

// markOf is the place in the history behind a message.
func markOf(msgid, stamp string) string { return "msgid=" + msgid + " timestamp=" + stamp }
