package stream

import (
	"encoding/json"
	"sync"
	"time"

	"agenthost/agents/internal/clip"
	"agenthost/llm"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// pause is how long what follows a chunk at once is gathered for the
// next one: a reader sees no more, and a fast model fills no queues.
const pause = 20 * time.Millisecond

// Options say whose answer a Writer publishes, and how.
type Options struct {
	Agent string
	Key   session.Key
	Head  Chunk // what all chunks of the answer share
	Most  int   // bytes of text in a chunk
	Held  bool  // nothing is published before Release
	NC    *nats.Conn
	Log   *zerolog.Logger
}

// A Writer publishes one answer as it comes. An answer of a single piece is not
// streamed: its reply follows at once.
type Writer struct {
	Options

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

	held bool        // nothing is published before Release
	kept []llm.Delta // what was said meanwhile
}

// NewWriter is for the call of the model that is to come.
func NewWriter(o Options) *Writer { return &Writer{Options: o, held: o.Held} }

// Add takes the next piece of the answer.
func (s *Writer) Add(d llm.Delta) {
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
func (s *Writer) restart() {
	s.kept, s.pending, s.text, s.thoughts = s.kept[:0], s.pending[:0], 0, 0
	if s.subject == "" {
		return
	}
	c := s.Head
	c.Restart = true
	s.publish(c)
}

// Replace puts what a hook has made of the answer in place of what is held.
func (s *Writer) Replace(said llm.Message) {
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

// Release publishes what was held, in pieces as large as fit.
func (s *Writer) Release() {
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
func (s *Writer) say(text string, thought bool) {
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
		s.arm(pause)
	case 2:
		s.flush()
	default:
		if rest := pause - time.Since(s.last); rest <= 0 {
			s.flush()
		} else {
			s.arm(rest)
		}
	}
}

func (s *Writer) arm(wait time.Duration) {
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

func (s *Writer) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	if !s.ended {
		s.flush()
	}
}

func (s *Writer) flush() {
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

// Chunks are what a model has said so far, for a reader who was not there.
func (s *Writer) Chunks(text, reasoning string) (list []Chunk) {
	add := func(c Chunk) { list = append(list, c) }
	s.each(reasoning, 0, true, add)
	s.each(text, 0, false, add)
	return list
}

// each makes chunks of text that each fit into a message; the first has that offset.
func (s *Writer) each(text string, offset int, thought bool, do func(Chunk)) {
	for text != "" {
		c, piece := s.Head, clip.Head(text, s.Most)
		if c.Offset = offset; thought {
			c.Reasoning = piece
		} else {
			c.Text = piece
		}
		do(c)
		text, offset = text[len(piece):], offset+len(piece)
	}
}

// End publishes what is left and how it ended, unless nothing was streamed.
func (s *Writer) End(how string) {
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
	c := s.Head
	c.Offset, c.End = s.text, how
	s.publish(c)
}

func (s *Writer) publish(c Chunk) {
	if s.subject == "" {
		s.subject = Subject(s.Agent, s.Key)
	}
	data, err := json.Marshal(c)
	if err == nil {
		err = s.NC.Publish(s.subject, data)
	}
	if err != nil {
		s.Log.Debug().Str("agent", s.Agent).Str("session", string(s.Key)).Err(err).Msg("publish delta")
	}
}
