package session

import (
	"strconv"

	"agenthost/fastjson"
	"agenthost/run"
)

// rememberIDs is how many message ids a session remembers.
const rememberIDs = 10_000

// known is one id: Seq is the commit that holds its replies, 0 while it has
// none.
type known struct {
	ID  string `json:"id"`
	Seq uint64 `json:"seq,omitempty"`
}

func appendKnown(b []byte, list []known) []byte {
	b = append(b, '[')
	for i, k := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = fastjson.AppendString(append(b, `{"id":`...), k.ID)
		b = strconv.AppendUint(append(b, `,"seq":`...), k.Seq, 10)
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
	if len(s.ring) < rememberIDs {
		s.ring = append(s.ring, known{id, seq})
		s.index(len(s.ring) - 1)
		return
	}
	delete(s.at, s.ring[s.next].ID)
	s.ring[s.next] = known{id, seq}
	s.at[id] = s.next
	s.next = (s.next + 1) % rememberIDs
}

func (s *ids) index(i int) {
	if s.at == nil && len(s.ring) > scanUpTo {
		s.at = make(map[string]int, 2*len(s.ring))
		for j := range s.ring {
			s.at[s.ring[j].ID] = j
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
		s.set(k.ID, k.Seq)
	}
}

func inputIDs(inputs []run.Input) []string {
	list := make([]string, len(inputs))
	for i, in := range inputs {
		list[i] = in.ID
	}
	return list
}
