package memory

import (
	"cmp"
	"math"
	"slices"
	"time"
	"unicode/utf8"
)

// An index is the notes of one agent with the words in them. It is for one
// goroutine at a time.
type index struct {
	slots []slot
	free  []int32
	byID  map[string]int32
	terms map[string]*entry
	near  map[string][]*entry // by their first three characters
	crowd map[string]int      // how many notes a peer has
	words int                 // in all notes

	scores []float64 // of a search, by slot
	seen   []int     // the word of the query that a slot was last found by
}

// A slot holds a note; an empty one is free.
type slot struct {
	note  Note
	rev   uint64 // of its entry in the bucket
	words int
}

// An entry is a term with the slots of the notes that have it.
type entry struct {
	term  string
	slots []posting
}

type posting struct {
	slot  int32
	times int32
}

func newIndex() *index {
	return &index{byID: map[string]int32{}, terms: map[string]*entry{}, near: map[string][]*entry{}, crowd: map[string]int{}}
}

func (x *index) get(id string) (Note, bool) {
	if i, ok := x.byID[id]; ok {
		return x.slots[i].note, true
	}
	return Note{}, false
}

// put takes in a note, unless the index has a newer one under its id.
func (x *index) put(n Note, rev uint64) {
	i, ok := x.byID[n.ID]
	switch {
	case ok && x.slots[i].rev > rev:
		return
	case ok && x.slots[i].note.Text == n.Text && x.slots[i].note.Peer == n.Peer: // it was used
		x.slots[i].note, x.slots[i].rev = n, rev
		return
	case ok:
		x.drop(n.ID)
	}
	i = x.slot()
	count := 0
	x.each(n.Text, func(term string) {
		count++
		x.note(term, i)
	})
	x.slots[i] = slot{n, rev, count}
	x.byID[n.ID] = i
	x.words += count
	x.crowd[n.Peer]++
}

func (x *index) slot() int32 {
	if last := len(x.free) - 1; last >= 0 {
		i := x.free[last]
		x.free = x.free[:last]
		return i
	}
	x.slots = append(x.slots, slot{})
	x.scores, x.seen = append(x.scores, 0), append(x.seen, 0)
	return int32(len(x.slots) - 1)
}

func (x *index) each(text string, do func(term string)) {
	words(text, func(term, alt string) {
		do(term)
		if alt != "" {
			do(alt)
		}
	})
}

// note adds slot i to a term. Its words come one after the other, so it is the
// last if it is there.
func (x *index) note(term string, i int32) {
	e := x.terms[term]
	if e == nil {
		e = &entry{term: term}
		x.terms[term] = e
		p := beginning(term)
		x.near[p] = append(x.near[p], e)
	}
	if last := len(e.slots) - 1; last >= 0 && e.slots[last].slot == i {
		e.slots[last].times++
		return
	}
	e.slots = append(e.slots, posting{i, 1})
}

// drop forgets a note.
func (x *index) drop(id string) {
	i, ok := x.byID[id]
	if !ok {
		return
	}
	s := x.slots[i]
	x.each(s.note.Text, func(term string) { x.unnote(term, i) })
	x.words -= s.words
	if x.crowd[s.note.Peer]--; x.crowd[s.note.Peer] == 0 {
		delete(x.crowd, s.note.Peer)
	}
	delete(x.byID, id)
	x.slots[i] = slot{}
	x.free = append(x.free, i)
}

func (x *index) unnote(term string, i int32) {
	e := x.terms[term]
	if e == nil {
		return
	}
	for at, p := range e.slots {
		if p.slot == i {
			e.slots = remove(e.slots, at)
			break
		}
	}
	if len(e.slots) > 0 {
		return
	}
	delete(x.terms, term)
	p := beginning(term)
	for at, other := range x.near[p] {
		if other == e {
			x.near[p] = remove(x.near[p], at)
			break
		}
	}
	if len(x.near[p]) == 0 {
		delete(x.near, p)
	}
}

// remove takes one out of an unordered list.
func remove[T any](list []T, at int) []T {
	last := len(list) - 1
	list[at] = list[last]
	clear(list[last:])
	return list[:last]
}

// beginning is the first three characters of a term.
func beginning(term string) string {
	end := 0
	for range 3 {
		_, n := utf8.DecodeRuneInString(term[end:])
		end += n
	}
	return term[:end]
}

// find is the note with just this text for this peer.
func (x *index) find(peer, text string) (Note, bool) {
	for i := range x.slots {
		if n := &x.slots[i].note; n.ID != "" && n.Peer == peer && n.Text == text {
			return *n, true
		}
	}
	return Note{}, false
}

// month is what a note may go unused before it is worth half as much.
const month = 30 * 24 * time.Hour

// worth is what it is to the agent to keep a note. Twice as often recalled
// counts as much as a month unused, and that as much as the size of the largest
// note. The notes of one peer are worth the less the more there are of them, so that
// a flood by one peer does not evict the notes of others.
func (x *index) worth(n *Note, now time.Time) float64 {
	last := n.At
	if n.LastUsed.After(last) {
		last = n.LastUsed
	}
	return math.Log2(1+float64(n.Used)) - now.Sub(last).Hours()/month.Hours() -
		float64(len(n.Text))/MaxText - math.Log2(float64(x.crowd[n.Peer]))
}

// least is the n notes that are worth least; n is small.
func (x *index) least(n int, now time.Time) []Note {
	if n <= 0 {
		return nil
	}
	type rated struct {
		slot  int
		worth float64
	}
	list := make([]rated, 0, n+1)
	for i := range x.slots {
		note := &x.slots[i].note
		if note.ID == "" {
			continue
		}
		r := rated{i, x.worth(note, now)}
		at, _ := slices.BinarySearchFunc(list, r, func(a, b rated) int { return cmp.Compare(a.worth, b.worth) })
		if at < n {
			list = slices.Insert(list, at, r)
			list = list[:min(len(list), n)]
		}
	}
	notes := make([]Note, len(list))
	for k, r := range list {
		notes[k] = x.slots[r.slot].note
	}
	return notes
}
