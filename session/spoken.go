package session

import (
	"slices"
	"time"
)

// rememberRuns is of how many runs with replies in several commits those are remembered.
const rememberRuns = 100

// spoken is which commits hold the replies of a run beside the one that has ended it: a
// person who says more while the run is at work gets an answer to each. A host that dies
// may have published none of them.
type spoken struct {
	Now  []uint64    `json:"now,omitempty"`  // of the run under way
	Runs []spokenRun `json:"runs,omitempty"` // that have ended, oldest first
}

type spokenRun struct {
	Before []uint64 `json:"before"`
	End    uint64   `json:"end"` // the commit that has ended it
}

// reply takes down a commit with a reply of the run under way.
func (s *spoken) reply(seq uint64) {
	if n := len(s.Now); n == 0 || s.Now[n-1] != seq {
		s.Now = append(s.Now, seq)
	}
}

// end takes down the commit that ends the run. Mostly it is the only one with a reply.
func (s *spoken) end(seq uint64) {
	if n := len(s.Now); n > 0 && s.Now[n-1] == seq {
		s.Now = s.Now[:n-1]
	}
	if len(s.Now) > 0 {
		s.Runs = append(s.Runs, spokenRun{slices.Clone(s.Now), seq})
		s.Runs = s.Runs[max(0, len(s.Runs)-rememberRuns):]
	}
	s.Now = s.Now[:0]
}

// before are the other commits of the run that commit seq has ended, or of the run under
// way if seq is the last of its.
func (s *spoken) before(seq uint64) []uint64 {
	if slices.Contains(s.Now, seq) {
		return s.Now
	}
	for i := range s.Runs {
		if s.Runs[i].End == seq {
			return s.Runs[i].Before
		}
	}
	return nil
}

// all are the commits of all runs.
func (s *spoken) all() []uint64 {
	seqs := slices.Clone(s.Now)
	for i := range s.Runs {
		seqs = append(seqs, s.Runs[i].Before...)
	}
	return seqs
}

// snapshot is a copy for a snapshot, nil if there is nothing to remember.
func (s *spoken) snapshot() *spoken {
	if len(s.Now)+len(s.Runs) == 0 {
		return nil
	}
	return &spoken{slices.Clone(s.Now), slices.Clone(s.Runs)}
}

// Replied is the last commit that holds replies, 0 if none does.
func (l *Log) Replied() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replied
}

// RepliedAt is when the last commit that holds replies was made, if its run was answered by
// another lane than that of its messages, or these waited in the log: no message comes again for
// such replies. Else it is zero, and where a snapshot of a host of before stands for it.
func (l *Log) RepliedAt() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spokeAt
}

// RepliedSince are the commits with replies from sequence from on, oldest
// first, and the last such commit in any case.
func (l *Log) RepliedSince(from uint64) []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	seqs := append([]uint64{l.replied}, l.spoken.before(l.replied)...)
	for _, k := range l.ids.ring {
		if k.Seq >= from {
			seqs = append(append(seqs, k.Seq), l.spoken.before(k.Seq)...)
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// RepliedBefore are the commits with replies before sequence seq, oldest first, as far as the
// log remembers them.
func (l *Log) RepliedBefore(seq uint64) []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	seqs := l.spoken.all()
	for _, k := range l.ids.ring {
		seqs = append(seqs, k.Seq)
	}
	seqs = slices.DeleteFunc(seqs, func(s uint64) bool { return s == 0 || s >= seq })
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// RepliedWith are the commits with replies of the run that commit seq has ended, in
// their order; seq is the last of them.
func (l *Log) RepliedWith(seq uint64) []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Compact(append(slices.Clone(l.spoken.before(seq)), seq))
}
