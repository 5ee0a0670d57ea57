package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// How much a word counts that is not just the one looked for, and the constants
// of BM25.
const (
	nearWeight = 0.6
	saturation = 1.2
	lengthPull = 0.4
	maxQuery   = 32 // words of a query that are looked for
)

// A match is a term that a word of the query may mean.
type match struct {
	entry  *entry
	weight float64
}

// search is the notes that fit the query best, of those for everybody and those
// of peers. An empty query fits all; the newest go first.
func (x *index) search(query string, peers []string, limit int) []Note {
	asked := asked(query)
	var found []int32
	if len(asked) == 0 && strings.TrimSpace(query) == "" {
		for i := range x.slots {
			if x.visible(int32(i), peers) {
				found = append(found, int32(i))
			}
		}
	}
	clear(x.seen)
	for n, w := range asked {
		found = x.score(x.matches(w), n+1, peers, found)
	}
	best := x.best(found, limit)
	for _, i := range found {
		x.scores[i] = 0
	}
	return best
}

func (x *index) visible(i int32, peers []string) bool {
	n := &x.slots[i].note
	return n.ID != "" && (n.Peer == "" || slices.Contains(peers, n.Peer))
}

type question struct{ term, alt string }

// asked is the words of a query without those that say nothing, unless there
// are no others.
func asked(query string) []question {
	var all, telling []question
	words(query, func(term, alt string) {
		q := question{term, alt}
		if len(all) == maxQuery || slices.Contains(all, q) {
			return
		}
		all = append(all, q)
		if !common()[term] {
			telling = append(telling, q)
		}
	})
	if len(telling) > 0 {
		return telling
	}
	return all
}

// matches is the terms that q may mean, the best first.
func (x *index) matches(q question) []match {
	var list []match
	for _, term := range []string{q.term, q.alt} {
		if term == "" {
			continue
		}
		if e := x.terms[term]; e != nil {
			list = append(list, match{e, 1})
		}
		for _, e := range x.near[beginning(term)] {
			if w := alike(term, e.term); w > 0 {
				list = append(list, match{e, nearWeight * w})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b match) int { return cmp.Compare(b.weight, a.weight) })
	return list
}

// alike is how much two different terms are the same, 0 to 1: the part of the
// longer that they begin with. Either begins with all of the other, or with
// most of it; more of it where stem has taken the ending away already.
func alike(a, b string) float64 {
	if a == b {
		return 0
	}
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	for same > 0 && same < len(a) && !utf8.RuneStart(a[same]) {
		same--
	}
	part := float64(same) / float64(max(len(a), len(b)))
	switch shared := utf8.RuneCountInString(a[:same]); {
	case same == len(a) && shared >= 3, same == len(b) && shared >= 4:
		return part
	case shared >= 5 && part >= 0.7, shared >= 4 && part >= 0.6 && a[0] >= utf8.RuneSelf:
		return part
	}
	return 0
}

// score adds to the visible notes what it is worth that they have a word of the
// query, and to found those that had none before. All that the word may mean
// counts as one term, and a note has it once.
func (x *index) score(list []match, word int, peers []string, found []int32) []int32 {
	have := 0
	for _, m := range list {
		have += len(m.entry.slots)
	}
	total := float64(len(x.byID))
	rare := math.Log(1 + (total-math.Min(float64(have), total)+0.5)/(float64(have)+0.5))
	average := float64(x.words) / max(total, 1)
	for _, m := range list {
		for _, p := range m.entry.slots {
			if x.seen[p.slot] == word || !x.visible(p.slot, peers) {
				continue
			}
			x.seen[p.slot] = word
			if x.scores[p.slot] == 0 {
				found = append(found, p.slot)
			}
			times := float64(p.times)
			length := 1 - lengthPull + lengthPull*float64(x.slots[p.slot].words)/average
			x.scores[p.slot] += m.weight * rare * times * (saturation + 1) / (times + saturation*length)
		}
	}
	return found
}

// best is the notes of found in their order, at most limit of them.
func (x *index) best(found []int32, limit int) []Note {
	before := func(a, b int32) int {
		s, t := &x.slots[a].note, &x.slots[b].note
		return cmp.Or(cmp.Compare(x.scores[b], x.scores[a]), t.At.Compare(s.At), strings.Compare(s.ID, t.ID))
	}
	top := make([]int32, 0, limit+1)
	for _, i := range found {
		if len(top) == limit && before(top[limit-1], i) <= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, i, before)
		top = slices.Insert(top, at, i)
		top = top[:min(len(top), limit)]
	}
	notes := make([]Note, len(top))
	for k, i := range top {
		notes[k] = x.slots[i].note
	}
	return notes
}
