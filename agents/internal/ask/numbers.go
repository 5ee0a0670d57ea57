package ask

import (
	"slices"
	"time"

	"agenthost/session"
)

// takenNumbers are the numbers of the questions that a session is about to put at a place: others
// that ask there at the same time go on behind them.
type takenNumbers struct {
	agent, session string
	highest        int
	end            *time.Timer
}

// takenFor is longer than a question takes from its wording to the bucket.
const takenFor = 10 * time.Second

// TakeNumbers takes the numbers of n questions that the session of w is about to put, and
// returns the first. They go on behind own, the highest that is open in the session itself, and
// behind what others have asked in the same places.
func (q *Index) TakeNumbers(w Waiting, own, n int) (first int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := max(own, q.highest(w))
	for _, place := range placesOf(w) {
		for _, other := range q.taken[place] {
			if !other.isOf(w) {
				before = max(before, other.highest)
			}
		}
	}
	taken := &takenNumbers{agent: w.Agent, session: w.Session, highest: before + n}
	q.giveBack(w)
	for _, place := range placesOf(w) {
		q.taken[place] = append(q.taken[place], taken)
	}
	taken.end = time.AfterFunc(takenFor, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.drop(placesOf(w), func(other *takenNumbers) bool { return other == taken })
	})
	return before + 1
}

func (t *takenNumbers) isOf(w Waiting) bool { return t.agent == w.Agent && t.session == w.Session }

// giveBack ends what the session of w has taken.
func (q *Index) giveBack(w Waiting) {
	q.drop(placesOf(w), func(taken *takenNumbers) bool { return taken.isOf(w) })
}

// asks ends it when the last of the questions that it was for is known.
func (q *Index) asks(w Waiting) {
	q.drop(placesOf(w), func(taken *takenNumbers) bool { return taken.isOf(w) && max(w.Number, 1) >= taken.highest })
}

func (q *Index) drop(places []string, which func(*takenNumbers) bool) {
	if len(q.taken) == 0 {
		return
	}
	for _, place := range places {
		left := slices.DeleteFunc(q.taken[place], func(taken *takenNumbers) bool {
			over := which(taken)
			if over {
				taken.end.Stop()
			}
			return over
		})
		if q.taken[place] = left; len(left) == 0 {
			delete(q.taken, place)
		}
	}
}

// highest is the highest number of the questions that other sessions have put at the same
// places as w, 0 where none has.
func (q *Index) highest(w Waiting) (n int) {
	if at := w.Origin; at != nil && at.Session != "" {
		for _, a := range q.own[session.Key(at.Session)] {
			if a.agent != w.Agent || at.Session != w.Session {
				n = max(n, a.number, 1)
			}
		}
	}
	for _, place := range placesOf(w) {
		for _, other := range q.at[place] {
			if other.Agent != w.Agent || other.Session != w.Session {
				n = max(n, other.Number, 1)
			}
		}
	}
	return n
}
