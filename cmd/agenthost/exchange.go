package main

import (
	"context"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/internal/control"
)

// An exchange is a question of a chat until its answer, with what the person is
// asked before it.
type exchange struct {
	*chat
	speech  *speech
	lines   <-chan line       // nil once the input has ended
	open    []control.Waiting // asked and not answered; the next line is for the first
	orders  map[string]bool   // given by this exchange, by the id of their message
	waiting bool              // the line of the cursor says so
}

func newExchange(c *chat) *exchange {
	return &exchange{
		chat: c, speech: c.newSpeech(), lines: c.lines, orders: map[string]bool{},
	}
}

func (x *exchange) listener(ctx context.Context) listener {
	return listener{
		chunk: x.chunk, quiet: x.quiet, asked: x.asked, told: x.told, lines: x.input,
		typed: func(l line, ok bool) error { return x.typed(ctx, l, ok) },
	}
}

func (x *exchange) chunk(c control.Chunk) {
	if c.Text == "" { // a tool tells how far it is
		return
	}
	if c.Offset == 0 || len(x.open) == 0 {
		x.resume() // a new turn begins when all calls of the last have what they waited for
	}
	x.speech.chunk(c)
}

func (x *exchange) quiet() {
	if len(x.open) == 0 && x.editor == nil { // which has a sign of life of its own
		x.prompt("…")
		x.waiting = x.person
	}
}

// resume puts the cursor where the agent speaks. What is still open then was
// answered elsewhere.
func (x *exchange) resume() {
	switch {
	case len(x.open) > 0:
		x.prompt("\n" + x.name())
	case x.waiting:
		x.prompt(clearLine + x.name())
	}
	x.open, x.waiting = nil, false
}

// interrupt puts the cursor at the beginning of a line.
func (x *exchange) interrupt() {
	if x.speech.said.Len() > 0 {
		x.prompt("\n")
		x.speech.said.Reset()
	} else {
		x.prompt(clearLine)
	}
	x.waiting = false
}

func (x *exchange) asked(w control.Waiting) {
	x.open = append(x.open, w)
	if len(x.open) == 1 {
		x.interrupt()
		x.show()
	}
}

// show puts the first of what is open to whoever types.
func (x *exchange) show() {
	w := x.open[0]
	text := "[" + w.Kind + "] "
	if w.Agent != x.dialog.agent {
		text += w.Agent + ": "
	}
	text += printable(w.Prompt)
	switch {
	case w.Kind == control.ForApproval:
		text += " (approve/deny, or: approve session|always)"
	case len(w.Options) > 0:
		text += " (" + printable(strings.Join(w.Options, "/")) + ")"
	}
	if !x.person {
		fmt.Fprintln(x.stderr, text)
		return
	}
	fmt.Fprint(x.stdout, text+"\nyou> ")
}

// input is what is typed, when it can be for this exchange: at a terminal
// always, else each line is a message unless something is open.
func (x *exchange) input() <-chan line {
	if x.person || len(x.open) > 0 {
		return x.lines
	}
	return nil
}

// typed takes a line. Its error is errLeft, or that of ctx.
func (x *exchange) typed(ctx context.Context, l line, ok bool) error {
	text := strings.TrimSpace(l.text)
	switch {
	case len(x.open) > 0 && (!ok || l.err != nil || text == quitWord):
		return x.left(l)
	case !ok:
		x.lines = nil
	case text == stopWord:
		x.stop(ctx)
	case len(x.open) == 0:
		x.ahead = append(x.ahead, l)
	case text == "":
		x.prompt("you> ")
	default:
		x.reply(ctx, text)
	}
	return nil
}

// left ends a chat in which something is open: nobody is left to answer here.
func (x *exchange) left(l line) error {
	x.failed = true
	x.prompt("\n")
	x.notice("%s", waitingFor(x.open[0]))
	if l.err != nil {
		return fmt.Errorf("read answer: %w", l.err)
	}
	return errLeft
}

// reply answers the first of what is open.
func (x *exchange) reply(ctx context.Context, text string) {
	id, err := x.dialog.reply(ctx, x.open[0], text, userName())
	if err != nil {
		x.notice("%s", printable(err.Error()))
		x.show()
		return
	}
	x.orders[id], x.open = true, x.open[1:]
	x.ready()
}

// ready shows whose turn it is.
func (x *exchange) ready() {
	if len(x.open) > 0 {
		x.show()
	} else {
		x.prompt(x.name())
	}
}

// stop stops what is under way, with all that is open.
func (x *exchange) stop(ctx context.Context) {
	id, err := x.dialog.stop(ctx, userName())
	if err != nil {
		x.notice("stop %s: %v", x.dialog.agent, err)
	} else {
		x.orders[id], x.open = true, nil
	}
	x.ready()
}

// told tells why a host did not do what it was ordered to.
func (x *exchange) told(r bus.Route) {
	if r.Error == nil || !x.orders[r.InReplyTo] {
		return
	}
	x.interrupt()
	x.notice("%s", printable(r.Error.Message))
	x.ready()
}
