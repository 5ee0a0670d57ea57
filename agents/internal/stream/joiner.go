package stream

import "cmp"

// A Joiner makes of the chunks of a session's stream, and of what was asked for
// for what was missed, each text once, in order and without a gap, whatever is
// lost, repeated or swapped on the way. The zero Joiner is ready to use; it is
// for one goroutine.
//
// Between two turns nothing is filled in: of a turn that was left unfinished
// for good no End comes. The reply has the whole.
type Joiner struct {
	now      Chunk  // the turn being followed
	before   string // the run before its
	text     int    // bytes passed on
	thoughts int
	ended    bool
	behind   bool
	ahead    []Chunk // what came too early
	out      []Chunk
}

// mostAhead bounds what is kept for later; what was said meanwhile has to be
// asked for again.
const mostAhead = 4096

// Hear takes a chunk of the stream, and returns what there is to pass on. It is
// valid until the next call.
func (j *Joiner) Hear(c Chunk) []Chunk {
	switch {
	case c.Call != "":
		j.out = append(j.out[:0], c)
		return j.out
	case c.Run == j.before || c.Run == j.now.Run && j.order(c) < 0:
		return nil
	case c.Run != j.now.Run || j.order(c) > 0:
		j.begin(c)
	}
	return j.take(c)
}

// Join takes a chunk of what was asked for. It does not tell of another run
// than the one that is heard: which of the two is the later one, it cannot say.
func (j *Joiner) Join(c Chunk) []Chunk {
	switch {
	case j.now.Run != "" && c.Run != j.now.Run || c.Run == j.now.Run && j.order(c) < 0:
		return nil
	case j.now.Run == "" || j.order(c) > 0:
		j.begin(c)
	}
	return j.take(c)
}

// Behind reports whether something is missing, so that it is time to ask.
func (j *Joiner) Behind() bool { return j.behind }

func (j *Joiner) order(c Chunk) int {
	return cmp.Or(cmp.Compare(c.Attempt, j.now.Attempt), cmp.Compare(c.Turn, j.now.Turn))
}

func (j *Joiner) begin(c Chunk) {
	if c.Run != j.now.Run {
		j.before = j.now.Run
	}
	j.now = Chunk{Run: c.Run, Attempt: c.Attempt, Turn: c.Turn}
	j.text, j.thoughts, j.ended, j.behind, j.ahead = 0, 0, false, false, nil
}

func (j *Joiner) take(c Chunk) []Chunk {
	j.out = j.out[:0]
	if j.early(c) {
		j.behind = true
		if len(j.ahead) == mostAhead {
			j.ahead = nil
		}
		j.ahead = append(j.ahead, c)
		return nil
	}
	j.pass(c)
	for moved := len(j.out) > 0; moved; {
		n := len(j.out)
		later := j.ahead[:0]
		for _, a := range j.ahead {
			if j.early(a) {
				later = append(later, a)
			} else {
				j.pass(a)
			}
		}
		j.ahead = later
		j.behind = len(later) > 0
		moved = len(j.out) > n
	}
	return j.out
}

func (j *Joiner) early(c Chunk) bool {
	if c.Reasoning != "" {
		return c.Offset > j.thoughts
	}
	return c.Offset > j.text
}

// pass passes on what is new of a chunk that is not early.
func (j *Joiner) pass(c Chunk) {
	switch {
	case j.ended:
		return
	case c.End != "":
		j.ended = true
	case c.Reasoning != "":
		if c.Offset+len(c.Reasoning) <= j.thoughts {
			return
		}
		c.Reasoning, c.Offset = c.Reasoning[j.thoughts-c.Offset:], j.thoughts
		j.thoughts += len(c.Reasoning)
	default:
		if c.Offset+len(c.Text) <= j.text {
			return
		}
		c.Text, c.Offset = c.Text[j.text-c.Offset:], j.text
		j.text += len(c.Text)
	}
	j.out = append(j.out, c)
}
