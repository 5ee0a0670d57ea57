package unsent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/outbox"
	"agenthost/bus"
	"agenthost/run"
)

// A commit is one that was looked at. Its out has those of its replies that are missing.
type commit struct {
	seq        uint64
	at         time.Time
	out        *outbox.Batch
	forPlugins int // how many of its replies are
}

// ForPlugins reports whether a reply goes to a plugin: those are kept longest, and are in
// AGENT_OUTBOUND in the order of the log.
func ForPlugins(reply *run.Reply) bool { return strings.HasPrefix(reply.Subject, bus.OutboundPrefix) }

// lost reports whether it has replies for plugins of which none was published. Then those of
// commits before may be missing too: an owner publishes a reply after all before it.
func (c *commit) lost() bool {
	return c.forPlugins > 0 && len(c.missing()) == c.forPlugins
}

// missing are its replies for plugins that are missing.
func (c *commit) missing() (list []*run.Reply) {
	for _, reply := range c.out.Replies {
		if ForPlugins(reply) {
			list = append(list, reply)
		}
	}
	return list
}

func batches(found []*commit) (list []*outbox.Batch) {
	for _, c := range found {
		list = append(list, c.out)
	}
	return list
}

// A Backlog is what an owner has left unpublished, oldest first.
type Backlog struct {
	Batches []*outbox.Batch
	// First is the first commit whose replies for plugins were looked for.
	First uint64
}

// Backlog is OfCommits and, if the oldest of commits was not published, what is missing of
// those before, which earlier are, each oldest first. Of those only replies for plugins count:
// others go out again when their message comes again.
//
// It goes back until it meets a commit with a reply that was published. A session whose last
// reply was published costs no more than OfCommits.
func (f Finder) Backlog(commits, earlier []uint64) (b Backlog, err error) {
	found, err := f.look(commits)
	if err != nil {
		return b, err
	}
	b.First = commits[0]
	oldest := slices.IndexFunc(found, func(c *commit) bool { return c.forPlugins > 0 })
	if oldest >= 0 && found[oldest].lost() && len(earlier) > 0 {
		before, err := f.lostBefore(earlier)
		if err != nil {
			return b, err
		}
		if len(before) > 0 {
			b.First = before[0].seq
			found = append(before, found...)
		}
	}
	b.Batches = batches(found)
	return b, nil
}

// lookAtMost is how many commits are looked at together.
const lookAtMost = 64

// clockSkew is how far clocks of a cluster differ.
const clockSkew = 10 * time.Second

// lostBefore are the last of commits whose replies for plugins are missing. It looks at more
// of them each time, as each time costs a pass over the stream.
func (f Finder) lostBefore(commits []uint64) (lost []*commit, err error) {
	begin, err := f.Agent.Parts.Reader.Begin(f.Agent.Work, bus.OutboundStream)
	if err != nil {
		return nil, fmt.Errorf("look for earlier replies: %w", err)
	}
	for n := 1; len(commits) > 0; n = min(2*n, lookAtMost) {
		rest := max(0, len(commits)-n)
		found, err := f.look(commits[rest:])
		if err != nil {
			return nil, err
		}
		for _, c := range slices.Backward(found) {
			if c.at.Before(begin.Add(clockSkew)) { // its replies may have been published, and deleted since
				return lost, nil
			}
			published := c.forPlugins > 0 && !c.lost()
			c.out.Replies = c.missing()
			if len(c.out.Replies) > 0 {
				lost = slices.Insert(lost, 0, c)
			}
			if published {
				return lost, nil
			}
		}
		commits = commits[:rest]
	}
	return lost, nil
}
