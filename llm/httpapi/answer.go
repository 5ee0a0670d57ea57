package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"agenthost/llm"
)

// How long we wait for what a server may still have to say: after the finish,
// the usage; after its own mark of the end, nothing but the end of the body,
// which frees the connection for the next call.
const (
	afterFinish = 2 * time.Second
	afterDone   = 50 * time.Millisecond
)

// A Decoder turns what a server sends for one answer into deltas.
type Decoder interface {
	// Whole reads an answer that came in one piece; first is its first byte, which
	// is still to be read.
	Whole(first byte, r io.Reader) error
	// Event takes one event of a stream; done says that it was the last.
	Event(Event) (done bool, err error)
	// Last is what goes with the finish. A Finish of its own replaces a plain stop.
	Last() llm.Delta
}

// An Answer is an answer on its way to the caller.
type Answer struct {
	Names *ToolNames

	body        *body
	yield       func(llm.Delta, error) bool
	generations generations
	kept        int // bytes that the decoder has not given
	said        bool
	called      bool
	finish      llm.Finish
}

// Give passes d on. Its error ends the reading: the caller has left.
func (a *Answer) Give(d llm.Delta) error {
	a.called = a.called || d.Call != nil
	a.said = a.said || d.Call != nil || d.Text != "" || d.Reasoning != "" || d.Media != nil || d.Meta != nil
	if !a.yield(d, nil) {
		return errLeft
	}
	return nil
}

// longestKept bounds what a decoder keeps of one answer. What it gives is bounded by who is
// given it.
const longestKept = 64 << 20

var errEndless = fmt.Errorf("answer is longer than %d MiB", longestKept>>20)

// Keep notes that the decoder keeps n bytes more, to be given later. Its error ends the
// reading: no model says so much, and a server that is broken says it without end.
func (a *Answer) Keep(n int) error {
	if a.kept += n; a.kept > longestKept {
		return llm.Unavailable(errEndless)
	}
	return nil
}

// Continues checks that a chunk with this id, which may be empty, goes on with
// the answer; says reports whether the chunk says something.
func (a *Answer) Continues(id string, says bool) error {
	if a.generations.another(id, says, a.Finished()) {
		return llm.Unavailable(ErrTwoGenerations)
	}
	return nil
}

// Finish notes why the model stopped. From the first time on the server has a
// little time for what it still has to say.
func (a *Answer) Finish(why llm.Finish) {
	first := !a.Finished()
	a.finish = why
	if first {
		a.Linger()
	}
}

// Finished reports whether the model has stopped.
func (a *Answer) Finished() bool { return a.finish != "" }

// Said reports whether the answer has anything but a usage.
func (a *Answer) Said() bool { return a.said }

// Linger gives a server that has finished its full time again.
func (a *Answer) Linger() { a.body.hangUpAfter(afterFinish) }

// Done notes the server's own mark of the end, which stands for a finish when
// there was an answer.
func (a *Answer) Done() {
	if !a.Finished() && a.said {
		a.finish = llm.FinishStop
	}
	a.body.hangUpAfter(afterDone)
}

// read gives all deltas. A server that ignored that a stream was asked for is
// recognised by its first byte, as content types lie.
func (a *Answer) read(api *API, d Decoder) error {
	first, err := a.body.first()
	if err != nil {
		return err
	}
	switch {
	case strings.IndexByte(api.Whole, first) >= 0:
		err = d.Whole(first, a.body)
	case first == '<':
		err = llm.Unavailable(api.Foreign)
	default:
		err = a.events(d)
	}
	if err != nil {
		return err
	}
	a.body.drain()
	return a.end(d.Last())
}

// events reads until the decoder has seen the last one, or until the body ends
// one way or the other after a finish.
func (a *Answer) events(d Decoder) error {
	for e, err := range a.body.events() {
		if err != nil {
			return err
		}
		if done, err := d.Event(e); done || err != nil {
			return err
		}
	}
	return nil
}

// end gives the last delta. Servers differ in the reason they give for calling a
// tool; that there is a call is what counts.
func (a *Answer) end(last llm.Delta) error {
	switch {
	case !a.Finished():
		return llm.Unavailable(errCut)
	case a.finish != llm.FinishStop:
	case a.called:
		a.finish = llm.FinishToolCalls
	case last.Finish != "":
		a.finish = last.Finish
	}
	last.Finish = a.finish
	a.yield(last, nil)
	return nil
}

// ReadWhole reads the JSON of a whole answer into v.
func ReadWhole(r io.Reader, v any) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return llm.Unavailable(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return llm.Unavailable(fmt.Errorf("read answer: %w", err))
	}
	return nil
}
