package httpapi

import "errors"

// ErrTwoGenerations is the error of a stream in which a second answer follows
// upon the first, as a gateway sends that tried twice: taken for one, they would
// call every tool twice.
var ErrTwoGenerations = errors.New("stream has two answers in it")

// generations detects by the ids in a stream of chunks where another answer begins.
// Many servers send no ids, or another with each chunk: then it says nothing. The
// zero generations has seen no chunk.
type generations struct {
	id     string
	chunks int  // with id
	mixed  bool // the ids differ within an answer
}

// another reports whether a chunk that says something is of another answer than
// the ones before it; finished says that those came to an end. An id, in whatever
// way it is written, says so only when two chunks at least had one in common
// before.
func (g *generations) another(id string, says, finished bool) bool {
	switch {
	case id == "" || id == "null" || id == `""`:
	case id == g.id:
		g.chunks++
	case g.id == "":
		g.id, g.chunks = id, 1
	case finished && says && g.chunks > 1 && !g.mixed:
		return true
	case !finished:
		g.mixed = true
	}
	return false
}
