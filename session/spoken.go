package session

import "slices"

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
