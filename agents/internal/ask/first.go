package ask

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// The first question of a chat is put without a number. When the next is put with one, the first
// has been the first of several: its entry in the bucket gets the number 1, which it keeps until
// it is answered, also when it is the last that is left.

// Number is what the question under id is called by; 0: by none, or it is not known.
func (q *Index) Number(id string) int {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if w, ok := q.asked[id]; ok {
		return w.Number
	}
	list := q.own[q.waits[id].key]
	if i := slices.IndexFunc(list, func(a asked) bool { return a.id == id }); i >= 0 {
		return list[i].number
	}
	return 0
}

// isFirst reports whether w, which has no number, is the first of several: it has got its number
// before, or others have been put with theirs meanwhile.
func (q *Index) isFirst(ctx context.Context, w Waiting) bool {
	select {
	case <-q.known:
	case <-ctx.Done():
	}
	if q.Number(w.ID) > 0 {
		return true
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	return q.highest(w) > 1
}

// firsts are the questions without a number where w is put.
func (q *Index) firsts(w Waiting) (ids []string) {
	places := numberedAt(w)
	q.mu.RLock()
	defer q.mu.RUnlock()
	for _, place := range places {
		for _, other := range q.at[place] {
			if other.Number == 0 && other.ID != w.ID {
				ids = append(ids, other.ID)
			}
		}
	}
	add := func(a asked) {
		if a.number == 0 && a.id != w.ID {
			ids = append(ids, a.id)
		}
	}
	at := w.Origin
	if at != nil && at.Session != "" {
		for _, a := range q.own[session.Key(at.Session)] {
			add(a)
		}
	}
	if at == nil || at.Session == "" || w.Notified { // else these are all that ask there
		for _, list := range q.own {
			for _, a := range list {
				if slices.Contains(places, a.chat) {
					add(a)
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// setNumber notes the number of a question that is still open.
func (q *Index) setNumber(id string, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := slices.Clone(q.own[q.waits[id].key])
	if i := slices.IndexFunc(list, func(a asked) bool { return a.id == id }); i >= 0 {
		list[i].number = n
		q.own[q.waits[id].key] = list
	}
	w, ok := q.asked[id]
	if !ok {
		return
	}
	w.Number = n
	q.asked[id] = w
	for _, place := range placesOf(w) {
		for i, other := range q.at[place] {
			if other.ID == id {
				q.at[place][i] = w
			}
		}
	}
}

// numberFirst gives w its number where it is the first of several by now, and those that w
// follows theirs. Without that they are answered in their own words all the same.
func (s *Store) numberFirst(ctx context.Context, w *Waiting) {
	switch {
	case len(numberedAt(*w)) == 0: // it is for no person
	case w.Number == 0 && s.Open.isFirst(ctx, *w):
		w.Number = 1
	case w.Number > 1:
		for _, id := range s.Open.firsts(*w) {
			if err := s.number(ctx, id); err != nil {
				s.Log.Debug().Err(err).Str("call", id).Msg("number the first of several questions: failed")
			}
		}
	}
}

// number gives the question under id the number 1, unless it was answered meanwhile.
func (s *Store) number(ctx context.Context, id string) error {
	entry, err := s.Reader.Entry(ctx, bus.WaitingBucket, id)
	if errors.Is(err, records.ErrNotFound) {
		return nil
	}
	w := Waiting{}
	if err == nil {
		err = json.Unmarshal(entry.Data, &w)
	}
	if err != nil || w.Number > 0 {
		return err
	}
	w.Number = 1
	msg, err := w.Entry()
	if err != nil {
		return err
	}
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(entry.Seq, 10))
	if _, err := s.Publisher.PublishWait(ctx, msg); err != nil {
		return err
	}
	s.Open.setNumber(id, 1)
	return nil
}
