package agents

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"agenthost/agents/internal/ask"
	"agenthost/run"
	"agenthost/tools"
)

// preview is a call as a person is asked about it, in the language of the agent. short
// is the tool's name and its arguments.
func (t *runner) preview(ctx context.Context, tool tools.Tool, call run.Call, args json.RawMessage, short string) string {
	name := title(t.c.r.id)
	if tool.Preview == nil {
		arguments, _ := strings.CutPrefix(short, tool.Name)
		if arguments = strings.TrimSpace(arguments); arguments == "" || arguments == "{}" {
			return t.p.texts.Say("approval_tool", "agent", name, "tool", tool.Name)
		}
		return t.p.texts.Say("approval_tool_with", "agent", name, "tool", tool.Name, "arguments", arguments)
	}
	p := tool.Preview(ctx, tools.Call{Agent: t.c.r.id, Session: string(t.c.key), Run: t.id, Name: call.Name, Args: args})
	values := []string{"agent", name, "size", t.p.texts.Size(p.Bytes)}
	for placeholder, value := range p.Values {
		values = append(values, placeholder, plain(value))
	}
	text := t.p.texts.Word(p.Sentence, values...)
	if p.Detail != "" {
		text += "\n" + tools.Shown(p.Detail)
	}
	return text
}

// title is the name by which an agent is spoken of: its id with a capital.
func title(id string) string {
	first, n := utf8.DecodeRuneInString(id)
	return string(unicode.ToUpper(first)) + id[n:]
}

// plain is a value in a sentence. One that could pass for more of the sentence is
// quoted.
func plain(value string) string {
	simple := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/+@:?=&%~", r)
	}
	if value != "" && strings.IndexFunc(value, func(r rune) bool { return !simple(r) }) < 0 && utf8.RuneCountInString(value) <= 300 {
		return value
	}
	return tools.Shown(strconv.Quote(value))
}

// word says in the texts of questions how each is answered, and numbers them where
// several are open in their chat.
func (t *runner) word(waits []*run.Wait) {
	first := t.numbered() + 1
	for i, w := range waits {
		if len(waits) > 1 || first > 1 {
			w.Number = first + i
		}
		w.Newest = t.c.newestInput()
		w.Said = t.said(w)
	}
}

// numbered is the highest number of the questions that are open in the chat.
func (t *runner) numbered() (n int) {
	if left := t.journal.State().Run; left != nil {
		for _, call := range left.Open() {
			if call.Asked != run.ForDelegate {
				n = max(n, ask.Number(call))
			}
		}
	}
	if at := t.person(); at != nil {
		n = max(n, t.c.r.parts.asks.Open.Highest(Waiting{Agent: t.c.r.id, Session: string(t.c.key), Origin: at}))
	}
	return n
}

// said is the text of a question with how it is answered.
func (t *runner) said(w *run.Wait) string {
	book, n := t.p.texts, strconv.Itoa(w.Number)
	switch {
	case w.For == run.ForApproval && w.Number == 0:
		return w.Prompt + gap(w.Prompt) + book.Say("approval_reply")
	case w.For == run.ForApproval:
		return w.Prompt + gap(w.Prompt) + book.Say("approval_reply_numbered", "n", n)
	case w.Number == 0:
		return w.Prompt
	}
	text := book.Say("question_numbered", "n", n, "question", w.Prompt) + "\n"
	if len(w.Options) > 0 {
		return text + book.Say("question_reply_options", "example", w.Options[0]+" "+n)
	}
	return text + book.Say("question_reply_text", "n", n)
}

// gap is what stands between a question and how it is answered.
func gap(prompt string) string {
	if strings.Contains(prompt, "\n") {
		return "\n"
	}
	return " "
}

// A round is the tool calls that begin together. Those that ask a person do so in the
// order of the calls, and when it is known how many they are.
type round struct {
	t     *runner
	turns []*roundCall // in the order of the calls
	begun int

	mu      sync.Mutex
	left    int // calls of which is not known whether they ask
	decided chan struct{}
}

type roundCall struct {
	round *round
	known bool          // whether it asks
	wait  *run.Wait     // what it asks
	told  chan struct{} // closed when the machine has its signal
}

// newRound is the round of the calls among effects.
func (t *runner) newRound(effects []run.Effect) *round {
	if !slices.ContainsFunc(effects, func(e run.Effect) bool { return e.Kind == run.RunTool }) { // as mostly
		return nil
	}
	b := &round{t: t, decided: make(chan struct{})}
	for i := range effects {
		if effects[i].Kind == run.RunTool {
			b.turns = append(b.turns, &roundCall{round: b, told: make(chan struct{})})
		}
	}
	b.left = len(b.turns)
	return b
}

// next is the next call of the round to begin.
func (b *round) next() *roundCall {
	b.begun++
	return b.turns[b.begun-1]
}

// settle says whether a call asks; the first word counts.
func (u *roundCall) settle(wait *run.Wait) {
	b := u.round
	b.mu.Lock()
	defer b.mu.Unlock()
	if u.known {
		return
	}
	u.known, u.wait = true, wait
	if b.left--; b.left > 0 {
		return
	}
	var waits []*run.Wait
	for _, other := range b.turns {
		if other.wait != nil {
			waits = append(waits, other.wait)
		}
	}
	b.t.word(waits)
	close(b.decided)
}

// ask returns the signal of a call when it is its turn: at once, unless it asks.
func (u *roundCall) ask(ctx context.Context, sig run.Signal) run.Signal {
	if sig.Wait == nil || sig.Wait.For == run.ForDelegate {
		u.settle(nil)
		return sig
	}
	u.settle(sig.Wait)
	if u.wait != sig.Wait { // it has worked before it asked
		u.round.t.word([]*run.Wait{sig.Wait})
		return sig
	}
	before := u.round.turns[:slices.Index(u.round.turns, u)]
	awaitDone(ctx, u.round.decided)
	for _, other := range before {
		if other.wait != nil {
			awaitDone(ctx, other.told)
		}
	}
	return sig
}

func awaitDone(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// done says that the machine has the signal of the call, or never will.
func (u *roundCall) done() {
	u.settle(nil)
	close(u.told)
}
