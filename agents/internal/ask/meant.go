package ask

import "time"

// A meant is the word that a question was given: until its answer is stored it is the oldest
// still, and another word of the same person that comes at once is for the next.
type meant struct {
	input, sender string
	until         time.Time
}

// meantFor is more than an answer takes to be stored.
const meantFor = 10 * time.Second

// Give notes that an input of a sender is for the question under id.
func (q *Index) Give(id, input, sender string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for len(q.givenDue) > 0 && now.After(q.given[q.givenDue[0]].until) {
		delete(q.given, q.givenDue[0])
		q.givenDue = q.givenDue[1:]
	}
	if _, ok := q.given[id]; ok { // the first word counts
		return
	}
	q.given[id] = meant{input, sender, now.Add(meantFor)}
	q.givenDue = append(q.givenDue, id)
}

// HasOther reports whether a question was given another word of the sender than this input a
// moment ago.
func (q *Index) HasOther(id, input, sender string) bool {
	q.mu.RLock()
	defer q.mu.RUnlock()
	w, ok := q.given[id]
	return ok && w.input != input && w.sender == sender && time.Now().Before(w.until)
}
