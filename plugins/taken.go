package plugins

import "sync"

// mostTaken is how many replies are remembered of which a part is taken. Few are: those
// under way, and those that were when a term has ended.
const mostTaken = 16384

// taken is how far replies have come that are not settled, as this process knows it: the
// note of it may be late, or on its way while NATS is away.
type taken struct {
	mu      sync.Mutex
	replies map[string]progress // by id
}

func newTaken() *taken { return &taken{replies: map[string]progress{}} }

func (t *taken) set(reply string, p progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.replies[reply]; !known && len(t.replies) >= mostTaken {
		for id := range t.replies { // another host has settled most of them
			delete(t.replies, id)
			break
		}
	}
	t.replies[reply] = p
}

// of is how many parts are taken of a reply that is cut into so many.
func (t *taken) of(reply string, parts int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.replies[reply]; p.Parts == parts {
		return p.Taken
	}
	return 0
}

func (t *taken) forget(reply string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.replies, reply)
}
