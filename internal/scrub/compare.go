package scrub

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"agenthost/bus/records"
)

// mostDifferences is how many differences of one stream are looked at again.
const mostDifferences = 10_000

// compare compares the copies of a stream up to sequence last, and again what differs:
// what was stored or deleted meanwhile, and reached one server before the other, differs
// once.
func (s *scrubber) compare(ctx context.Context, stream string, servers []string, last uint64) error {
	var differ map[uint64]difference
	first := uint64(1)
	for try := range tries {
		now, err := s.pass(ctx, stream, servers, first, last, differ)
		if err != nil {
			return err
		}
		if differ = now; len(differ) == 0 {
			return nil
		}
		first, last = slices.Min(slices.Collect(maps.Keys(differ))), slices.Max(slices.Collect(maps.Keys(differ)))
		if try < tries-1 {
			if err := s.rest(ctx); err != nil {
				return err
			}
		}
	}
	s.differs(stream, differ)
	return nil
}

// pass reads all copies beside each other. Of among, unless it is nil, only what is in
// it counts.
func (s *scrubber) pass(ctx context.Context, stream string, servers []string, first, last uint64, among map[uint64]difference) (map[uint64]difference, error) {
	list, err := openReplicas(ctx, s.js, stream, servers, first, last)
	if err != nil {
		return nil, err
	}
	defer func() { closeReplicas(ctx, list) }()
	for _, server := range servers {
		if among == nil && !slices.ContainsFunc(list, func(r *replica) bool { return r.server == server }) {
			s.found(Finding{Kind: ReplicaUnreadable, Stream: stream, Server: server, Text: "the copy of " + server + " cannot be compared: NATS puts no consumer there; is it catching up?"})
		}
	}
	differ := map[uint64]difference{}
	for n := uint64(0); ; n++ {
		heads, seq, err := s.heads(ctx, stream, &list)
		if err != nil || len(heads) == 0 {
			return differ, err
		}
		if n%replicaBatch == 0 {
			s.opt.Progress(Progress{"messages of " + stream, seq, last})
		}
		if d, same := compareHeads(list, heads, seq); !same && len(differ) < mostDifferences {
			if _, known := among[seq]; known || among == nil {
				differ[seq] = d
			}
		}
	}
}

// heads are the next messages of all copies, and the lowest sequence of them. A copy that
// cannot be read any further is a finding, and is left out from then on.
func (s *scrubber) heads(ctx context.Context, stream string, list *[]*replica) (heads map[*replica]records.Record, seq uint64, err error) {
	heads = map[*replica]records.Record{}
	for _, r := range slices.Clone(*list) {
		rec, ok, err := r.head(ctx)
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if err != nil {
			s.found(Finding{Kind: ReplicaUnreadable, Stream: stream, Server: r.server, Text: err.Error()})
			r.close(ctx)
			*list = slices.DeleteFunc(*list, func(other *replica) bool { return other == r })
			continue
		}
		if ok {
			heads[r] = rec
			if seq == 0 || rec.Seq < seq {
				seq = rec.Seq
			}
		}
	}
	return heads, seq, nil
}

// compareHeads compares message seq of all copies, and takes it.
func compareHeads(list []*replica, heads map[*replica]records.Record, seq uint64) (d difference, same bool) {
	d.groups = map[string][]string{}
	var one *records.Record
	same = true
	for _, r := range list {
		rec, ok := heads[r]
		if !ok || rec.Seq != seq {
			d.lack, same = append(d.lack, r.server), false
			continue
		}
		r.take()
		d.have, d.subject = append(d.have, r.server), rec.Subject
		same = same && (one == nil || equal(*one, rec))
		one = &rec
	}
	if !same {
		for _, r := range list {
			if rec, ok := heads[r]; ok && rec.Seq == seq {
				mark := fingerprint(rec)
				d.groups[mark] = append(d.groups[mark], r.server)
			}
		}
	}
	return d, same
}

func equal(a, b records.Record) bool {
	return a.Subject == b.Subject && a.Time.Equal(b.Time) && bytes.Equal(a.Data, b.Data) &&
		maps.EqualFunc(a.Header, b.Header, slices.Equal[[]string])
}
