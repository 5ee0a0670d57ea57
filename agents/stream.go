package agents

import (
	"encoding/json"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// A Chunk is what is published on agent.stream.<agent>.<sid> while a model
// speaks: a piece of its text or of its reasoning, its end, or how far a tool
// is. Nothing is kept: the reply has the whole.
type Chunk struct {
	Run     string `json:"run"`
	Attempt int    `json:"attempt,omitempty"` // of the run, where a host before has tried it
	Turn    int    `json:"turn,omitempty"`    // the call of the model in the run, from 1
	// Offset counts the bytes before Text, or before Reasoning, of the same
	// kind and turn, so that a reader sees a gap and a repeat.
	Offset    int    `json:"offset"`
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Restart says that what came of the turn so far counts no more: the model
	// failed before its first text, and is asked again, or another one is.
	Restart bool `json:"restart,omitempty"`
	// End says that the turn says no more; Offset is the length of its text.
	End       string `json:"end,omitempty"`
	InReplyTo string `json:"in_reply_to,omitempty"` // as in the reply to come

	// A tool that takes long says how far it is.
	Call     string `json:"call,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Progress string `json:"progress,omitempty"`
}

// How a turn ends: the model has said all, or will not say the rest.
const (
	EndDone = "done"
	EndCut  = "cut"
)

// streamPause is how long what follows a chunk at once is gathered for the
// next one: a reader sees no more, and a fast model fills no queues.
const streamPause = 20 * time.Millisecond

// stream publishes one answer as it comes. An answer of a single piece is not
// streamed: its reply follows at once.
type stream struct {
	t    *runner
	head Chunk // what all chunks of the answer share

	mu       sync.Mutex
	subject  string // known once something is published
	pending  []byte // said and not published
	thought  bool   // pending is reasoning
	text     int    // bytes published
	thoughts int    // the same of reasoning
	pieces   int
	last     time.Time // when the last chunk was published
	timer    *time.Timer
	armed    bool
	ended    bool

	holds bool        // the agent does not stream before after_model_call
	held  bool        // nothing is published before release
	kept  []llm.Delta // what was said meanwhile
}

// newStream is for the call of the model that is to come.
func (t *runner) newStream() *stream {
	holds := t.p.cfg.HoldStream
	s := &stream{t: t, head: Chunk{Run: t.id, InReplyTo: t.inputs[len(t.inputs)-1].ID}, holds: holds, held: holds}
	if r := t.journal.State().Run; r != nil {
		s.head.Attempt, s.head.Turn = r.Attempt, turn(r)
	}
	t.speech.Store(s)
	return s
}

// turn is the number of the call of the model under way.
func turn(r *run.Run) int { return r.ModelCalls + 1 }

func (s *stream) add(d llm.Delta) {
	if d.Text == "" && d.Reasoning == "" && d.Call == nil && !d.Restart {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Restart {
		s.restart()
	}
	if s.held {
		s.kept = append(s.kept, d)
		return
	}
	s.say(d.Reasoning, true)
	s.say(d.Text, false)
	if d.Call != nil { // no reply brings what is said before calls
		s.flush()
	}
}

// restart takes back what was said; offsets begin at 0 again.
func (s *stream) restart() {
	s.kept, s.pending, s.text, s.thoughts = s.kept[:0], s.pending[:0], 0, 0
	if s.subject == "" {
		return
	}
	c := s.head
	c.Restart = true
	s.publish(c)
}

// replace puts what a hook has made of the answer in place of what is held.
func (s *stream) replace(said llm.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = s.kept[:0]
	for _, p := range said.Parts {
		switch p.Type {
		case llm.Text:
			s.kept = append(s.kept, llm.Delta{Text: p.Text})
		case llm.Reasoning:
			s.kept = append(s.kept, llm.Delta{Reasoning: p.Text})
		}
	}
}

// release publishes what was held, in pieces as large as fit.
func (s *stream) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	for _, d := range s.kept {
		for _, piece := range []struct {
			text    string
			thought bool
		}{{d.Reasoning, true}, {d.Text, false}} {
			if piece.text == "" {
				continue
			}
			if s.thought != piece.thought {
				s.flush()
			}
			s.thought = piece.thought
			s.pending = append(s.pending, piece.text...)
		}
	}
	s.flush()
}

// say publishes text: at once when the last chunk was a while ago, else with
// what comes until then.
func (s *stream) say(text string, thought bool) {
	if text == "" {
		return
	}
	if s.thought != thought {
		s.flush()
	}
	s.thought = thought
	s.pending = append(s.pending, text...)
	s.pieces++
	switch s.pieces {
	case 1:
		s.arm(streamPause)
	case 2:
		s.flush()
	default:
		if rest := streamPause - time.Since(s.last); rest <= 0 {
			s.flush()
		} else {
			s.arm(rest)
		}
	}
}

func (s *stream) arm(wait time.Duration) {
	switch {
	case s.armed:
		return
	case s.timer == nil:
		s.timer = time.AfterFunc(wait, s.due)
	default:
		s.timer.Reset(wait)
	}
	s.armed = true
}

func (s *stream) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	if !s.ended {
		s.flush()
	}
}

func (s *stream) flush() {
	if len(s.pending) == 0 {
		return
	}
	said := string(s.pending)
	s.pending, s.last = s.pending[:0], time.Now()
	if s.thought {
		s.each(said, s.thoughts, true, s.publish)
		s.thoughts += len(said)
	} else {
		s.each(said, s.text, false, s.publish)
		s.text += len(said)
	}
}

// each makes chunks of text that each fit into a message, where every byte may
// become six; the first has that offset.
func (s *stream) each(text string, offset int, thought bool, do func(Chunk)) {
	for most := s.t.c.r.parts.room() / 8; text != ""; {
		c, piece := s.head, head(text, most)
		if c.Offset = offset; thought {
			c.Reasoning = piece
		} else {
			c.Text = piece
		}
		do(c)
		text, offset = text[len(piece):], offset+len(piece)
	}
}

// end publishes what is left and how it ended, unless nothing was streamed.
func (s *stream) end(how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.subject == "" {
		return
	}
	s.flush()
	c := s.head
	c.Offset, c.End = s.text, how
	s.publish(c)
}

func (s *stream) publish(c Chunk) {
	if s.subject == "" {
		s.subject = StreamSubject(s.t.c.r.id, s.t.c.key)
	}
	data, err := json.Marshal(c)
	if err == nil {
		err = s.t.c.r.parts.NC.Publish(s.subject, data)
	}
	if err != nil {
		s.t.c.log().Debug().Err(err).Msg("publish delta")
	}
}

// StreamSubject is where the answers of a session can be followed.
func StreamSubject(agent string, key session.Key) string {
	return bus.StreamPrefix + agent + "." + session.SID(agent, key)
}
