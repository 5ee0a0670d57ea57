package stream_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agenthost/agents/internal/stream"

	"github.com/google/go-cmp/cmp"
)

func TestJoiner(t *testing.T) {
	t.Parallel()
	a := stream.Chunk{Run: "a", Turn: 1}
	at := func(c stream.Chunk, offset int, text string) stream.Chunk {
		c.Offset, c.Text = offset, text
		return c
	}
	end := func(c stream.Chunk, offset int) stream.Chunk {
		c.Offset, c.End = offset, stream.EndDone
		return c
	}
	second, again, b := a, a, a
	second.Turn, again.Attempt, b.Run = 2, 2, "b"
	thought := a
	thought.Reasoning = "hm"
	join := func(c stream.Chunk) stream.Chunk { c.Tool = "join"; return c } // how the table marks what was asked for
	tests := map[string]struct {
		in     []stream.Chunk
		want   string
		behind bool
	}{
		"in order":               {[]stream.Chunk{at(a, 0, "ab"), at(a, 2, "c"), end(a, 3)}, "ab|c|.", false},
		"repeated":               {[]stream.Chunk{at(a, 0, "ab"), at(a, 0, "ab"), at(a, 1, "bc"), end(a, 3), end(a, 3)}, "ab|c|.", false},
		"swapped":                {[]stream.Chunk{end(a, 3), at(a, 2, "c"), at(a, 0, "ab")}, "ab|c|.", false},
		"gap":                    {[]stream.Chunk{at(a, 2, "c")}, "", true},
		"gap at the end":         {[]stream.Chunk{at(a, 0, "ab"), end(a, 3)}, "ab", true},
		"joined late":            {[]stream.Chunk{at(a, 2, "c"), join(at(a, 0, "ab"))}, "ab|c", false},
		"joined later still":     {[]stream.Chunk{at(a, 2, "c"), join(at(a, 0, "abcd")), at(a, 3, "de")}, "abcd|e", false},
		"joined first":           {[]stream.Chunk{join(at(a, 0, "ab")), at(a, 1, "bc")}, "ab|c", false},
		"reasoning beside":       {[]stream.Chunk{thought, at(a, 0, "ab"), thought, at(a, 2, "c")}, "(hm)|ab|c", false},
		"next turn":              {[]stream.Chunk{at(a, 0, "ab"), at(second, 0, "x"), at(a, 2, "c")}, "ab|x", false},
		"next turn by asking":    {[]stream.Chunk{at(a, 0, "ab"), join(at(second, 0, "x")), at(second, 1, "y")}, "ab|x|y", false},
		"turn that starts again": {[]stream.Chunk{at(a, 0, "ab"), at(again, 0, "xyz"), at(a, 2, "c")}, "ab|xyz", false},
		"next run":               {[]stream.Chunk{at(a, 0, "ab"), at(b, 0, "x"), at(a, 2, "c"), at(b, 1, "y")}, "ab|x|y", false},
		"asked of another run":   {[]stream.Chunk{at(b, 0, "x"), join(at(a, 0, "ab")), at(b, 1, "y")}, "x|y", false},
		"gap in a run given up":  {[]stream.Chunk{at(a, 2, "c"), at(b, 0, "x")}, "x", false},
		"asked of an old turn":   {[]stream.Chunk{at(second, 0, "x"), join(at(a, 0, "ab"))}, "x", false},
		"a tool":                 {[]stream.Chunk{{Run: "a", Call: "c"}, at(a, 0, "ab"), {Run: "a", Call: "c"}}, "*|ab|*", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var j stream.Joiner
			var got []string
			for _, c := range tt.in {
				for _, c := range give(&j, c) {
					got = append(got, spell(c))
				}
			}
			if s := strings.Join(got, "|"); s != tt.want || j.Behind() != tt.behind {
				t.Errorf("got %q, behind %v; want %q, %v", s, j.Behind(), tt.want, tt.behind)
			}
		})
	}
}

func give(j *stream.Joiner, c stream.Chunk) []stream.Chunk {
	if c.Tool == "join" {
		c.Tool = ""
		return j.Join(c)
	}
	return j.Hear(c)
}

func spell(c stream.Chunk) string {
	switch {
	case c.Call != "":
		return "*"
	case c.End != "":
		return "."
	case c.Reasoning != "":
		return "(" + c.Reasoning + ")"
	}
	return c.Text
}

// What comes too early is kept within bounds, and asking brings the rest.
func TestJoinerFarBehind(t *testing.T) {
	t.Parallel()
	var j stream.Joiner
	c := stream.Chunk{Run: "a", Turn: 1, Text: "x"}
	for i := range 10_000 {
		c.Offset = i + 1
		j.Hear(c)
	}
	c.Offset, c.Text = 0, strings.Repeat("x", 10_001)
	n := 0
	for _, c := range j.Join(c) {
		n += len(c.Text)
	}
	if n != 10_001 || j.Behind() {
		t.Errorf("got %d bytes, behind %v", n, j.Behind())
	}
}

// Whatever is lost, repeated and swapped on the way, and whenever somebody
// joins and asks: each turn's text is passed on from its beginning, without a
// gap or a repeat, and whole once it was asked for at the end.
func TestJoinerOnAnyWay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			l := &listening{T: t, text: map[int]string{}, thoughts: map[int]string{}}
			for turn := 1; turn <= 1+r.IntN(3); turn++ {
				l.follow(r, stream.Chunk{Run: "a", Turn: turn})
			}
		})
	}
}

// A listening is what a joiner has passed on, by turn.
type listening struct {
	*testing.T
	joiner         stream.Joiner
	text, thoughts map[int]string
}

func (l *listening) pass(chunks []stream.Chunk) {
	l.Helper()
	for _, c := range chunks {
		if c.Reasoning == "" && c.Offset != len(l.text[c.Turn]) || c.Reasoning != "" && c.Offset != len(l.thoughts[c.Turn]) {
			l.Fatalf("passed on %+v behind %q and %q", c, l.text[c.Turn], l.thoughts[c.Turn])
		}
		l.text[c.Turn] += c.Text
		l.thoughts[c.Turn] += c.Reasoning
	}
}

func (l *listening) follow(r *rand.Rand, head stream.Chunk) {
	chunks, text, thoughts := speak(r, head)
	for _, c := range unreliable(r, chunks) {
		l.pass(give(&l.joiner, c))
	}
	if !strings.HasPrefix(text, l.text[head.Turn]) || !strings.HasPrefix(thoughts, l.thoughts[head.Turn]) {
		l.Fatalf("passed on %q and %q of %q and %q", l.text[head.Turn], l.thoughts[head.Turn], text, thoughts)
	}
	for _, c := range []stream.Chunk{{Text: text}, {Reasoning: thoughts}} {
		c.Run, c.Turn = head.Run, head.Turn
		l.pass(l.joiner.Join(c))
	}
	end := head
	end.Offset, end.End = len(text), stream.EndDone
	if diff := cmp.Diff([]stream.Chunk{end}, l.joiner.Hear(end)); diff != "" {
		l.Errorf("end: -want +got:\n%s", diff)
	}
	if l.text[head.Turn] != text || l.thoughts[head.Turn] != thoughts || l.joiner.Behind() {
		l.Errorf("passed on %q and %q of %q and %q", l.text[head.Turn], l.thoughts[head.Turn], text, thoughts)
	}
}

// speak is one turn as it is published, with what somebody who asks now and
// then is told.
func speak(r *rand.Rand, head stream.Chunk) (chunks []stream.Chunk, text, thoughts string) {
	for i := range 1 + r.IntN(12) {
		c, piece := head, fmt.Sprint("<", head.Turn, ".", i, ">")
		if r.IntN(4) == 0 {
			c.Reasoning, c.Offset = piece, len(thoughts)
			thoughts += piece
		} else {
			c.Text, c.Offset = piece, len(text)
			text += piece
		}
		chunks = append(chunks, c)
		if r.IntN(6) == 0 {
			snapshot := head
			snapshot.Text, snapshot.Tool = text, "join"
			chunks = append(chunks, snapshot)
		}
	}
	return chunks, text, thoughts
}

// unreliable is what may come of a stream: some of it lost, twice, or late.
func unreliable(r *rand.Rand, chunks []stream.Chunk) []stream.Chunk {
	var out []stream.Chunk
	for _, c := range chunks {
		for range []int{0, 1, 1, 1, 2}[r.IntN(5)] {
			out = append(out, c)
		}
	}
	for range r.IntN(5) {
		if len(out) > 1 {
			i, k := r.IntN(len(out)), r.IntN(len(out))
			out[i], out[k] = out[k], out[i]
		}
	}
	return out
}
