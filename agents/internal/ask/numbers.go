package ask

import (
	"slices"
	"time"

	"agenthost/session"
)

// takenNumbers are the numbers of the questions that a session is about to put at places:
// others that ask there at the same time go on behind them.
type takenNumbers struct {
	agent, session string
	places         []string
	highest        int
	end            *time.Timer
}

// takenFor is longer than a question takes from its wording to the bucket.
const takenFor = 10 * time.Second

// TakeNumbers takes the numbers of n questions that the session of w is about to put, and
// returns the first. They go on behind own, the highest that is open in the session itself, and
// behind what others have asked in the same places.
func (q *Index) TakeNumbers(w Waiting, own, n int) (first int) {
	places := numberedAt(w)
	q.mu.Lock()
	defer q.mu.Unlock()
	before := max(own, q.highest(w))
	for _, place := range places {
		for _, other := range q.taken[place] {
			if !other.isOf(w) {
				before = max(before, other.highest)
			}
		}
	}
	taken := &takenNumbers{agent: w.Agent, session: w.Session, places: places, highest: before + n}
	q.giveBack(w)
	for _, place := range places {
		q.taken[place] = append(q.taken[place], taken)
	}
	taken.end = time.AfterFunc(takenFor, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.drop(taken)
	})
	return before + 1
}

func (t *takenNumbers) isOf(w Waiting) bool { return t.agent == w.Agent && t.session == w.Session }

// takenBy is what the session of w has taken, nil when it has nothing.
func (q *Index) takenBy(w Waiting) *takenNumbers {
	for _, place := range placesOf(w) {
		if i := slices.IndexFunc(q.taken[place], func(taken *takenNumbers) bool { return taken.isOf(w) }); i >= 0 {
			return q.taken[place][i]
		}
	}
	return nil
}

// giveBack ends what the session of w has taken.
func (q *Index) giveBack(w Waiting) {
	if taken := q.takenBy(w); taken != nil {
		q.drop(taken)
	}
}

// asks ends it when the last of the questions that it was for is known.
func (q *Index) asks(w Waiting) {
	if taken := q.takenBy(w); taken != nil && max(w.Number, 1) >= taken.highest {
		q.drop(taken)
	}
}

func (q *Index) drop(taken *takenNumbers) {
	taken.end.Stop()
	for _, place := range taken.places {
		left := slices.DeleteFunc(q.taken[place], func(other *takenNumbers) bool { return other == taken })
		if q.taken[place] = left; len(left) == 0 {
			delete(q.taken, place)
		}
	}
}

// numberedAt are the places where no other question has the number of w.
func numberedAt(w Waiting) []string {
	places := placesOf(w)
	if chat := chatOf(w); chat != "" {
		places = append(places, chat)
	}
	return places
}

// highest is the highest number of the questions that other sessions have put where w is put,
// 0 where none has.
func (q *Index) highest(w Waiting) (n int) {
	places := numberedAt(w)
	for _, place := range places {
		for _, other := range q.at[place] {
			if other.Agent != w.Agent || other.Session != w.Session {
				n = max(n, other.Number, 1)
			}
		}
	}
	at := w.Origin
	if at != nil && at.Session != "" {
		n = max(n, highestOf(q.own[session.Key(at.Session)], func(a asked) bool { return a.agent != w.Agent || at.Session != w.Session }))
	}
	if at != nil && at.Session != "" && !w.Notified { // as mostly: these are all that ask there
		return n
	}
	for _, list := range q.own {
		n = max(n, highestOf(list, func(a asked) bool { return slices.Contains(places, a.chat) }))
	}
	return n
}

func highestOf(list []asked, counts func(asked) bool) (n int) {
	for _, a := range list {
		if counts(a) {
			n = max(n, a.number, 1)
		}
	}
	return n
}
