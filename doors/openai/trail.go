package openai

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/doors"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/tools"
)

// An outcome is what a request came to.
type outcome struct {
	text  string
	fault *bus.Error
	usage llm.Usage
	files []bus.Media
	cut   bool // the model ended it at its longest length
	asks  bool // a person or the client has to answer before the run goes on
	calls []toolCall
	at    time.Time
}

// A trail is what the log has of a message.
type trail struct {
	known   bool     // the message is in it
	queued  bool     // it waits for the end of the run that waits
	inputs  []string // the messages of the run that it began, joined or answered
	outcome *outcome // nil: there is none yet
}

// trail reads the log of a session from the commit behind since on. What a message
// came to is found again, however much has come after it.
func (d *door) trail(ctx context.Context, p doors.Place, id string, since uint64) (trail, error) {
	sid, err := client.SessionID(p.Agent, d.parts.Desk.Key(p))
	if err != nil {
		return trail{}, err
	}
	s := scan{id: id, args: map[string]json.RawMessage{}, client: map[string]toolCall{}}
	for f, err := range d.sessions.History(ctx, p.Agent, sid, since+1) {
		if errors.Is(err, client.ErrNoSession) {
			return trail{}, nil
		}
		if err != nil {
			return trail{}, err
		}
		if s.read(f.Event); s.outcome != nil {
			break
		}
	}
	return s.trail, nil
}

// A scan reads a log for one message.
type scan struct {
	trail
	id     string
	mine   bool                       // what follows is what the message came to
	of     []string                   // the inputs of the run that is read
	args   map[string]json.RawMessage // of the calls of the run
	client map[string]toolCall        // those that the client runs, by the random part of what they wait under
	so     outcome
}

func (s *scan) read(e run.Event) {
	switch e.Type {
	case run.Started:
		s.begin(e)
	case run.InputAdded:
		s.add(e)
	case run.ApprovalAnswered, run.QuestionAnswered, run.ToolFinished, run.Finished:
		if e.Input != nil && e.Input.OwnID() == s.id {
			s.take()
		}
	case run.InputRefused:
		if e.Input != nil && e.Input.OwnID() == s.id {
			s.take()
			s.say(e.Reply)
			s.end(e.At)
		}
	case run.ToolRequested:
		s.args[e.Call] = e.Args
	case run.QuestionAsked:
		if string(e.Context) == tools.ForClient {
			s.client[e.Wait] = toolCall{Name: e.Name, Arguments: string(s.args[e.Call])}
		}
	case run.ModelCalled:
		if s.mine && e.Usage != nil {
			s.so.usage = total(s.so.usage, *e.Usage)
		}
	case run.Replied:
		if s.mine && s.say(e.Reply) {
			s.end(e.At)
		}
	case run.Suspended:
		if s.mine && s.so.asks {
			s.end(e.At)
		}
	}
}

func (s *scan) begin(e run.Event) {
	if len(e.Inputs) == 0 {
		return // one more attempt
	}
	s.of, s.mine = nil, false
	for _, in := range e.Inputs {
		s.of = append(s.of, in.OwnID())
	}
	if slices.Contains(s.of, s.id) {
		s.take()
	}
}

func (s *scan) add(e run.Event) {
	if e.Input == nil {
		return
	}
	if e.Run != "" {
		s.of = append(s.of, e.Input.OwnID())
	}
	if e.Input.OwnID() != s.id {
		return
	}
	s.known, s.queued = true, e.Run == ""
	if e.Run != "" {
		s.take()
	}
}

func (s *scan) take() {
	s.known, s.mine, s.queued, s.inputs, s.so = true, true, false, s.of, outcome{}
}

// say adds a reply, and reports whether it is the last.
func (s *scan) say(reply *run.Reply) (last bool) {
	var out bus.Outbound
	if reply == nil || json.Unmarshal(reply.Envelope, &out) != nil {
		return false
	}
	if c, ok := s.client[out.Call[strings.LastIndexByte(out.Call, '.')+1:]]; ok && out.Kind == bus.KindQuestion {
		c.wait = out.Call
		s.so.calls, s.so.asks = append(s.so.calls, c), true
		return false
	}
	s.so.add(out)
	return out.Final
}

func (s *scan) end(at time.Time) {
	s.so.at = at
	s.outcome = &s.so
}

// add takes what an agent says into the outcome.
func (o *outcome) add(out bus.Outbound) {
	switch {
	case out.Kind == bus.KindApproval || out.Kind == bus.KindQuestion:
		o.asks = true
		o.text = joined(o.text, question(out))
	case out.Final:
		o.text, o.fault, o.asks = out.Text, out.Error, false
		o.files, o.cut = out.Media, out.Cut
	}
}

// question is what a person is asked, with what they may choose.
func question(out bus.Outbound) string {
	if out.Kind != bus.KindQuestion {
		return out.Text // which says how to answer
	}
	return strings.Join(append([]string{out.Text}, out.Options...), "\n- ")
}

func joined(a, b string) string { return strings.TrimPrefix(a+"\n\n"+b, "\n\n") }

func total(a, b llm.Usage) llm.Usage {
	return llm.Usage{
		Input: a.Input + b.Input, CacheRead: a.CacheRead + b.CacheRead, CacheWrite: a.CacheWrite + b.CacheWrite,
		Output: a.Output + b.Output, Reasoning: a.Reasoning + b.Reasoning,
	}
}
