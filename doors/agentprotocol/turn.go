package agentprotocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/doors"
	"agenthost/llm"

	"github.com/nats-io/nuid"
)

// answer answers one prompt.
func (s *Server) answer(ctx context.Context, agent string, data []byte, id string, out *stream) {
	p, err := s.read(data)
	if err != nil {
		out.fail(codeBadRequest, failure{Error: "invalid_prompt", Message: err.Error()})
		return
	}
	defer s.acknowledge(out)()
	req, err := s.request(ctx, agent, id, p)
	if err == nil {
		err = s.relay(ctx, req, out)
	}
	switch {
	case errors.Is(err, bus.ErrMalformed):
		out.fail(codeBadRequest, failure{Error: "invalid_prompt", Message: err.Error()})
	case errors.Is(err, doors.ErrAway):
		out.fail(codeInternal, failure{"unavailable", err.Error(), retryAfter})
	case ctx.Err() != nil:
		out.fail(codeInternal, failure{"stopping", "this host stops; what was asked goes on at the next one", retryAfter})
	case err != nil:
		out.fail(codeInternal, failure{Error: "internal", Message: err.Error()})
	default:
		out.end()
	}
}

func (s *Server) read(data []byte) (prompt, error) {
	if limit := s.maxPayload(); int64(len(data)) > limit {
		return prompt{}, fmt.Errorf("the prompt has %d bytes; want at most %d", len(data), limit)
	}
	return readPrompt(data)
}

// acknowledge says that a prompt was taken, and goes on saying so until stop is called.
func (s *Server) acknowledge(out *stream) (stop func()) {
	out.ack()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(s.opt.AckEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				out.ack()
			}
		}
	})
	return func() { cancel(); group.Wait() }
}

// request is the message that a prompt becomes. Its id names it in its session; a
// session of its own is named by it, so that it may be sent again.
func (s *Server) request(ctx context.Context, agent, id string, p prompt) (doors.Request, error) {
	r := doors.Request{Agent: agent, ID: cmp.Or(id, nuid.Next()), Text: p.text, Meta: p.more}
	r.Conversation = cmp.Or(p.session, r.ID)
	if n := len(p.session); n > bus.LongestID {
		return r, fmt.Errorf("%w: its session has %d bytes; want at most %d", bus.ErrMalformed, n, bus.LongestID)
	}
	for _, f := range p.files {
		m, err := doors.KeepFile(ctx, s.opt.Files, f.Filename, "", f.Content)
		if err != nil {
			return r, fmt.Errorf("%w: %w", doors.ErrAway, err)
		}
		r.Media = append(r.Media, m)
	}
	return r, nil
}

// relay sends a request and passes on what comes of it.
func (s *Server) relay(ctx context.Context, r doors.Request, out *stream) error {
	e, err := s.opt.Desk.Send(ctx, r)
	if err != nil {
		return err
	}
	defer e.Close()
	q := &queries{server: s, exchange: e, out: out}
	defer q.close()
	var text doors.Text
	for ev, err := range e.Events(ctx) {
		switch {
		case err != nil:
			return err
		case ev.Chunk != nil:
			out.text(text.Chunk(*ev.Chunk))
		case ev.Refused != nil:
			q.again(*ev.Refused)
		case ev.Out == nil:
			if q.overdue() {
				out.fail(codeInternal, failure{Error: "no_answer", Message: "no answer to the query came in time; it can still be given by other ways"})
				return nil
			}
		case ev.Out.Kind == bus.KindApproval, ev.Out.Kind == bus.KindQuestion:
			q.ask(*ev.Out, "")
		default:
			s.say(ctx, ev.Out, &text, out)
		}
	}
	return nil
}

// say passes on what an agent says.
func (s *Server) say(ctx context.Context, o *bus.Outbound, text *doors.Text, out *stream) {
	switch {
	case o.Kind == bus.KindError:
		f := failure{Error: "internal", Message: o.Text}
		if o.Error != nil {
			f.Error, f.Message = o.Error.Code, cmp.Or(o.Error.Message, o.Text)
		}
		out.fail(codeOf(llm.Code(f.Error)), f)
		return
	case o.Final:
		out.text(text.End(o.Text))
	default:
		out.text(o.Text + "\n\n")
	}
	for _, m := range o.Media {
		s.attach(ctx, m, out)
	}
}

// attach sends a file of an agent, or where it is.
func (s *Server) attach(ctx context.Context, m bus.Media, out *stream) {
	name := doors.FileName(m.Name)
	switch {
	case m.Object == "":
		out.text("\n" + name + ": " + m.URL)
		return
	case m.Size <= s.nc.MaxPayload():
		content, err := s.opt.Files.GetWithin(ctx, m.Object, uint64(s.nc.MaxPayload()))
		if err == nil && out.file(name, content) {
			return
		}
	}
	out.text(fmt.Sprintf("\n%s (%d bytes) is the object %s of the bucket %s.", name, m.Size, m.Object, bus.FilesBucket))
}

// codeOf is the code of the protocol for one of ours.
func codeOf(code llm.Code) int {
	switch code {
	case llm.CodeValidation, llm.CodeContentFilter:
		return codeBadRequest
	case llm.CodeToolDenied:
		return codeForbidden
	case llm.CodeCancelled:
		return codeConflict
	case llm.CodeRateLimited, llm.CodeProviderRateLimit, llm.CodeBudgetExceeded:
		return codeTooMany
	}
	return codeInternal
}
