package chat

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"

	"github.com/nats-io/nats.go"
)

// An exchange is a message of a chat up to its reply, with the approvals and
// questions before it.
type exchange struct {
	*Chat
	speech  *Speech
	lines   <-chan line      // nil once the input has ended
	open    []client.Waiting // asked and not answered; the next line is for the first
	orders  map[string]bool  // given by this exchange, by the id of their message
	waiting bool             // the line of the cursor says so
}

func newExchange(c *Chat) *exchange {
	return &exchange{
		Chat: c, speech: c.newSpeech(), lines: c.lines, orders: map[string]bool{},
	}
}

// run follows a message that was sent up to its reply. Its error is errLeft, or
// why ctx has ended, or nats.ErrConnectionClosed.
func (x *exchange) run(ctx context.Context, m client.Message) (client.Reply, error) {
	events, stop := x.conv.Events(ctx, m)
	defer stop()
	for {
		select {
		case e, ok := <-events:
			switch {
			case !ok:
				return client.Reply{}, cmp.Or(context.Cause(ctx), nats.ErrConnectionClosed)
			case e.Reply != nil:
				return *e.Reply, nil
			}
			x.take(ctx, e)
		case l, ok := <-x.input():
			if err := x.typed(ctx, l, ok); err != nil {
				return client.Reply{}, err
			}
		}
	}
}

// take shows what comes before the reply.
func (x *exchange) take(ctx context.Context, e client.Event) {
	switch {
	case e.Chunk != nil:
		x.chunk(*e.Chunk)
	case e.Asked != nil:
		x.asked(ctx, *e.Asked)
	case e.Notice != nil:
		x.reported(ctx, *e.Notice)
	case e.Quiet:
		x.quiet()
	}
}

func (x *exchange) chunk(c client.Chunk) {
	if c.Text == "" { // a tool reports its progress
		return
	}
	if c.Offset == 0 || len(x.open) == 0 {
		x.resume() // a new turn begins when all calls of the last have what they waited for
	}
	x.speech.Chunk(c)
}

func (x *exchange) quiet() {
	if len(x.open) == 0 && x.editor == nil { // which has a sign of life of its own
		x.prompt("…")
		x.waiting = x.person
	}
}

// resume shows the prompt of the agent again. Questions that are still open then
// were answered elsewhere.
func (x *exchange) resume() {
	switch {
	case len(x.open) > 0:
		x.prompt("\n" + x.name())
	case x.waiting:
		x.prompt(terminal.ClearLine + x.name())
	}
	x.open, x.waiting = nil, false
}

// interrupt puts the cursor at the beginning of a line.
func (x *exchange) interrupt() {
	if x.speech.said.Len() > 0 {
		x.prompt("\n")
		x.speech.said.Reset()
	} else {
		x.prompt(terminal.ClearLine)
	}
	x.waiting = false
}

func (x *exchange) asked(ctx context.Context, w client.Waiting) {
	x.open = append(x.open, w)
	if len(x.open) == 1 {
		x.interrupt()
		x.show(ctx)
	}
}

// show prints the first of what is open.
func (x *exchange) show(ctx context.Context) {
	w := x.open[0]
	text := "[" + w.Kind + "] "
	if w.Agent != x.conv.Agent() {
		text += w.Agent + ": "
	}
	text += terminal.Printable(w.Prompt)
	switch {
	case w.Kind == client.ForApproval:
		text += " (or: approve session, approve always)" // the prompt says the rest
	case len(w.Options) > 0:
		text += " (" + terminal.Printable(strings.Join(w.Options, "/")) + ")"
	}
	if !x.person {
		fmt.Fprintln(x.Stderr, text)
		return
	}
	fmt.Fprint(x.Stdout, text+"\n"+x.details(ctx, w)+"you> ")
}

const callShown = 40 // lines of a call that is to be approved

// details is the call of an approval, where its prompt leaves out some of it.
func (x *exchange) details(ctx context.Context, w client.Waiting) string {
	if w.Kind != client.ForApproval {
		return ""
	}
	call, err := x.client.WholeCall(ctx, w)
	if err != nil || call == w.Prompt || says(w.Prompt, call) {
		return "" // without it the prompt says what is asked
	}
	lines := strings.Split(terminal.Printable(call), "\n")
	left := len(lines) - callShown
	if left > 0 {
		lines = lines[:callShown]
	}
	for i, line := range lines {
		lines[i] = x.screen.Paint(terminal.Dim, "  "+line) + "\n"
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("  … and %d more lines: agenthost approvals show %s\n", left, w.ID))
	}
	return strings.Join(lines, "")
}

// says reports whether a prompt has all arguments of a call.
func says(prompt, call string) bool {
	_, args, _ := strings.Cut(call, "\n")
	for line := range strings.SplitSeq(args, "\n") {
		_, value, found := strings.Cut(line, "=")
		if !found || !strings.Contains(prompt, strings.Trim(value, `"`)) {
			return false
		}
	}
	return true
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
	text, word := strings.TrimSpace(l.text), order(l.text)
	switch {
	case len(x.open) > 0 && (!ok || l.err != nil || leaves(l.text)):
		return x.left(l)
	case !ok:
		x.lines = nil
	case word == stopWord:
		x.stop(ctx)
	case len(x.open) > 0 && x.person && word == helpWord:
		x.printHelp()
		x.show(ctx)
	case len(x.open) == 0:
		x.ahead = append(x.ahead, l)
	case text == "":
		x.prompt("you> ")
	default:
		x.reply(ctx, text)
	}
	return nil
}

// left ends a chat in which something is open, with how it is answered elsewhere.
func (x *exchange) left(l line) error {
	x.failed = true
	x.prompt("\n")
	x.notice("%s", WaitingFor(x.open[0]))
	if l.err != nil {
		return fmt.Errorf("read answer: %w", l.err)
	}
	return errLeft
}

// reply answers the first of what is open.
func (x *exchange) reply(ctx context.Context, text string) {
	id, err := x.conv.Answer(ctx, x.open[0], text, cli.Operator())
	if err != nil {
		x.notice("%s", terminal.Printable(err.Error()))
		x.show(ctx)
		return
	}
	x.orders[id], x.open = true, x.open[1:]
	x.ready(ctx)
}

// ready shows the next prompt.
func (x *exchange) ready(ctx context.Context) {
	if len(x.open) > 0 {
		x.show(ctx)
	} else {
		x.prompt(x.name())
	}
}

// stop stops what is under way, with all that is open.
func (x *exchange) stop(ctx context.Context) {
	amid := len(x.open) == 0 && x.editor != nil && x.editor.Tail() != "" // Ctrl-C begins no line
	id, err := x.conv.Stop(ctx, cli.Operator())
	switch {
	case err != nil:
		x.notice("stop %s: %v", x.conv.Agent(), err)
	case amid: // and its end follows on the line after
		x.orders[id] = true
		return
	default:
		x.orders[id], x.open = true, nil
		x.speech.said.Reset() // the line of the order is below it
		x.speech.flush()
	}
	x.ready(ctx)
}

// reported shows why a host did not do what it was ordered to.
func (x *exchange) reported(ctx context.Context, r bus.Route) {
	if r.Error == nil || !x.orders[r.InReplyTo] {
		return
	}
	x.interrupt()
	x.notice("%s", terminal.Printable(r.Error.Message))
	x.ready(ctx)
}

// choices are what an approval or a question can be answered with, for a command
// line; empty when it can be anything.
func choices(w client.Waiting) string {
	if w.Kind == client.ForApproval {
		return client.Approve + "|" + client.Deny
	}
	return strings.Join(w.Options, "|")
}

// WaitingFor says how an approval or a question is answered outside the chat.
func WaitingFor(w client.Waiting) string {
	what, answer := "an approval", choices(w)
	if w.Kind == client.ForQuestion {
		what = "an answer"
	}
	if answer == "" {
		answer = "TEXT"
	}
	return "waiting for " + what + ": agenthost approvals answer " + w.ID + " " + terminal.Printable(answer) + "  (" + cli.OneLine(w.Prompt) + ")"
}
