package session

import (
	"slices"
	"strconv"

	"agenthost/fastjson"
	"agenthost/run"
)

// rememberIDs is how many message ids a session remembers.
const rememberIDs = 10_000

// known is one id: Seq is the commit that holds its replies, 0 while it has
// none. Without an ID it is a stretch of refused messages, by their sequences in
// AGENT_INBOUND: a flood of them takes the room of one, and displaces no id.
type known struct {
	ID   string `json:"id"`
	Seq  uint64 `json:"seq,omitempty"`
	From uint64 `json:"from,omitempty"`
	To   uint64 `json:"to,omitempty"`
}

func appendKnown(b []byte, list []known) []byte {
	b = append(b, '[')
	for i, k := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = fastjson.AppendString(append(b, `{"id":`...), k.ID)
		b = strconv.AppendUint(append(b, `,"seq":`...), k.Seq, 10)
		if k.To > 0 {
			b = strconv.AppendUint(append(b, `,"from":`...), k.From, 10)
			b = strconv.AppendUint(append(b, `,"to":`...), k.To, 10)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// ids remembers the last rememberIDs message ids of a session. The zero ids is
// empty and ready to use.
type ids struct {
	ring []known // oldest at next once full
	next int
	at   map[string]int // index in ring; made when a scan gets slow

	refused []int  // indexes of the stretches in ring, oldest first
	last    uint64 // the highest sequence of all stretches
}

// scanUpTo is how many ids are looked through without a map.
const scanUpTo = 16

func (s *ids) find(id string) int {
	if s.at != nil {
		if i, ok := s.at[id]; ok {
			return i
		}
		return -1
	}
	for i := range s.ring {
		if s.ring[i].ID == id {
			return i
		}
	}
	return -1
}

// stretch returns the commit that ended the stretch of refused messages that the
// one with sequence seq is in.
func (s *ids) stretch(seq uint64) (commit uint64, ok bool) {
	if seq > s.last { // as every new message
		return 0, false
	}
	for _, i := range slices.Backward(s.refused) {
		if k := &s.ring[i]; k.From <= seq && seq <= k.To {
			return k.Seq, true
		}
	}
	return 0, false
}

// refuse remembers that all messages from sequence from to to were refused, the
// last of them with that commit.
func (s *ids) refuse(from, to, commit uint64) {
	s.last = max(s.last, to)
	if n := len(s.refused) - 1; n >= 0 {
		if k := &s.ring[s.refused[n]]; k.From == from {
			k.To, k.Seq = max(k.To, to), commit
			return
		}
	}
	s.refused = append(s.refused, s.put(known{Seq: commit, From: from, To: to}))
}

// get returns the commit of id.
func (s *ids) get(id string) (seq uint64, ok bool) {
	i := s.find(id)
	if i < 0 {
		return 0, false
	}
	return s.ring[i].Seq, true
}

// set remembers id with its commit.
func (s *ids) set(id string, seq uint64) {
	if i := s.find(id); i >= 0 {
		s.ring[i].Seq = seq
		return
	}
	s.index(s.put(known{ID: id, Seq: seq}))
}

// put puts k where the oldest was, once there is no more room, and returns its
// place.
func (s *ids) put(k known) int {
	if len(s.ring) < rememberIDs {
		s.ring = append(s.ring, k)
		return len(s.ring) - 1
	}
	i := s.next
	if old := s.ring[i]; old.To == 0 {
		delete(s.at, old.ID)
	} else {
		s.refused = s.refused[1:]
	}
	s.ring[i] = k
	s.next = (i + 1) % rememberIDs
	return i
}

func (s *ids) index(i int) {
	if s.at == nil && len(s.ring) > scanUpTo {
		s.at = make(map[string]int, 2*len(s.ring))
		for j := range s.ring {
			if s.ring[j].To == 0 {
				s.at[s.ring[j].ID] = j
			}
		}
	}
	if s.at != nil {
		s.at[s.ring[i].ID] = i
	}
}

// list returns the ids, oldest first.
func (s *ids) list() []known {
	out := make([]known, 0, len(s.ring))
	return append(append(out, s.ring[s.next:]...), s.ring[:s.next]...)
}

func (s *ids) restore(list []known) {
	*s = ids{}
	for _, k := range list {
		if k.To > 0 {
			s.refuse(k.From, k.To, k.Seq)
		} else {
			s.set(k.ID, k.Seq)
		}
	}
}

func inputIDs(inputs []run.Input) []string {
	list := make([]string, len(inputs))
	for i, in := range inputs {
		list[i] = in.ID
	}
	return list
}

// Seen looks up the id of a message: ok reports whether the log has it, seq is the
// commit that holds its replies, 0 while it has none.
func (l *Log) Seen(id string) (seq uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids.get(id)
}

// SeenAt is Seen for a message that came with sequence seq of AGENT_INBOUND, which
// may be one of those that were refused.
func (l *Log) SeenAt(id string, seq uint64) (commit uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if commit, ok = l.ids.get(id); !ok {
		return l.ids.stretch(seq)
	}
	return commit, ok
}
