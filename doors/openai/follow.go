package openai

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/doors"
	"agenthost/llm"
)

// An output writes what comes of a request, whole or as it comes.
type output interface {
	// text is what the model says now.
	text(string)
	// idle is called when nothing has come for a while.
	idle()
	// end writes the outcome. What of its text is not said yet is rest.
	end(o outcome, rest string)
	// fail writes an error.
	fail(f *failure)
}

// name tells a client the names of its request and session.
func (j *job) name(w http.ResponseWriter) {
	w.Header().Set("X-Request-Id", sum(j.record.ID))
	w.Header().Set("Agent-Session", headerText(j.record.Conversation))
}

// serve sends the message of a job and writes what comes of it.
func (d *door) serve(ctx context.Context, j *job, out output) {
	if j.repeat {
		t, err := d.trail(ctx, j.place(), j.record.ID, j.record.Since)
		if err != nil {
			out.fail(d.explained(err))
			return
		}
		if t.outcome != nil {
			d.finish(ctx, j, out, *t.outcome, new(doors.Text))
			return
		}
		j.request.Also = append(j.request.Also, t.inputs...)
	}
	e, err := d.send(ctx, j)
	if err != nil {
		out.fail(d.explained(err))
		return
	}
	defer e.Close()
	var text doors.Text
	for ev, err := range e.Events(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				out.fail(d.explained(err))
			}
			return // else the client is gone; the run goes on
		}
		if ev.Chunk != nil {
			out.text(text.Chunk(*ev.Chunk))
			continue
		}
		o, err := d.came(ctx, j, ev.Out)
		if err != nil {
			out.fail(d.explained(err))
			return
		}
		if o != nil {
			d.finish(ctx, j, out, *o, &text)
			return
		}
		if ev.Out == nil {
			out.idle()
		}
	}
}

// send stores the message of a job, and before it the results of the client's tools.
func (d *door) send(ctx context.Context, j *job) (*doors.Exchange, error) {
	for i, res := range j.results {
		before := j.request
		before.ID, before.First = j.record.ID+"/"+strconv.Itoa(i), true
		before.Text, before.Answers, before.Media, before.Tools = res.text, res.wait, nil, nil
		e, err := d.parts.Desk.Send(ctx, before)
		if err != nil {
			return nil, err
		}
		e.Close()
	}
	return d.parts.Desk.Send(ctx, j.request)
}

// came is what a job has come to when something was said, or nothing for a while; nil
// when there is more to come.
func (d *door) came(ctx context.Context, j *job, said *bus.Outbound) (*outcome, error) {
	if said != nil && said.Kind == bus.KindNotice && said.InReplyTo == j.record.ID {
		return &outcome{text: said.Text, at: said.SentAt}, nil
	}
	t, err := d.trail(ctx, j.place(), j.record.ID, j.record.Since)
	switch {
	case err != nil && !isAway(err): // what is taken has its answer when NATS is back
		return nil, err
	case t.outcome != nil:
		return t.outcome, nil
	case said != nil && said.Final: // of what never came to the log, or cannot be read
		o := outcome{at: said.SentAt}
		o.add(*said)
		return &o, nil
	case t.queued && len(j.waits) > 0 && said == nil:
		return &outcome{text: "This waits until the open question is answered: " + j.waits[0].Prompt}, nil
	}
	return nil, nil //nolint:nilnil // there is more to come
}

// finish writes the end of a job.
func (d *door) finish(ctx context.Context, j *job, out output, o outcome, text *doors.Text) {
	if o.fault != nil {
		e := *o.fault
		if e.Message == "" {
			e.Message = o.text
		}
		out.fail(failed(&e))
		return
	}
	if err := d.complete(ctx, &o); err != nil {
		out.fail(d.explained(err))
		return
	}
	if o.asks && o.text != "" {
		o.text = joined(o.text, howToAnswer(j))
	}
	for i := range o.calls {
		o.calls[i].ID = callID(j.request.Agent, j.record.Conversation, o.calls[i].wait)
	}
	rest := ""
	if o.text != "" {
		rest = text.End(o.text)
	}
	out.end(o, rest)
}

// howToAnswer is the instruction for the person: how to answer what waits.
func howToAnswer(j *job) string {
	if !j.own {
		return "(The next message of this session is the answer.)"
	}
	return "(To answer, send the next message with the header Agent-Session: " + j.record.Conversation + ")"
}

// mostWhole bounds a text that is kept beside the bus.
const mostWhole = 16 << 20

// complete has the whole of a text that was too long for a message, and names what is
// attached.
func (d *door) complete(ctx context.Context, o *outcome) error {
	for _, m := range o.files {
		switch {
		case m.Name == "reply.txt" && m.Object != "" && strings.HasPrefix(m.MIME, "text/plain"):
			data, err := d.files.GetWithin(ctx, m.Object, mostWhole)
			if err != nil {
				return err
			}
			o.text = string(data)
		case m.URL != "":
			o.text = joined(o.text, "["+orWord(m.Name, m.Kind)+"]("+m.URL+")")
		default:
			o.text = joined(o.text, "[attached: "+orWord(m.Name, m.Kind)+"]")
		}
	}
	return nil
}

func orWord(name, kind string) string {
	for _, s := range []string{name, kind} {
		if s != "" {
			return s
		}
	}
	return "file"
}

// headerText is a text as a header may hold it: one in UTF-8, without control characters.
func headerText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

// A usage is what models have counted, by the names of both APIs.
type usage struct{ llm.Usage }

func (u usage) chat() map[string]any {
	return map[string]any{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.CacheRead, "audio_tokens": 0},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
}

func (u usage) response() map[string]any {
	return map[string]any{
		"input_tokens": u.Input, "input_tokens_details": map[string]any{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Input + u.Output,
	}
}
