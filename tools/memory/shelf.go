package memory

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A shelf is the notes of one agent in memory.
type shelf struct {
	agent string
	ready chan struct{} // closed when the notes are there, or err says why not
	once  sync.Once
	err   error

	mu    sync.Mutex
	index *index
	// gone are the notes that were deleted here and of which the watch has not
	// yet told it: what it tells of them until then is old.
	gone map[string]bool
}

func (s *shelf) settle(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.ready)
	})
}

// take takes in what the watch tells.
func (s *shelf) take(entry jetstream.KeyValueEntry) error {
	id := idOf(entry.Key())
	if entry.Operation() != jetstream.KeyValuePut {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.index.drop(id)
		delete(s.gone, id)
		return nil
	}
	n, err := read(entry)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone[id] {
		s.index.put(n, entry.Revision())
	}
	return nil
}

func (s *shelf) put(n Note, rev uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.gone, n.ID)
	s.index.put(n, rev)
}

func (s *shelf) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.index.get(id); ok {
		s.gone[id] = true
	}
	s.index.drop(id)
}

func (s *shelf) get(id string) (Note, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index.get(id)
}

// prepare is what to do before n is kept: twin is a note that says it already,
// and crowded out are those that are worth least, to make room for n.
func (s *shelf) prepare(n Note, most int) (twin Note, crowdedOut []Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if twin, ok := s.index.get(n.ID); ok {
		return twin, nil
	}
	if twin, ok := s.index.find(n.Peer, n.Text); ok {
		return twin, nil
	}
	return Note{}, s.index.least(len(s.index.byID)+1-most, n.At)
}

// countsEvery is how often a note counts as used at most: an agent that recalls
// it ten times in a conversation has still needed it once.
const countsEvery = time.Hour

// A use is a note that counts as used once more, and the revision it had.
type use struct {
	note Note
	rev  uint64
}

// search is what fits, and what of it counts as used now.
func (s *shelf) search(query string, peers []string, limit int, now time.Time) (found []Note, used []use) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found = s.index.search(query, peers, limit)
	for _, n := range found {
		if now.Sub(n.LastUsed) < countsEvery {
			continue
		}
		at := &s.index.slots[s.index.byID[n.ID]]
		at.note.Used++
		at.note.LastUsed = now
		used = append(used, use{at.note, at.rev})
	}
	return found, used
}
