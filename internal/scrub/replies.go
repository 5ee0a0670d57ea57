package scrub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// answers are the replies of a session in AGENT_OUTBOUND.
type answers struct {
	n    int
	last uint64
}

// surely is how old a reply is at the most that shows that there was a log: the record of the
// deletion of its session, if it was deleted, is kept longer.
const surely = bus.RequestsAge - time.Hour

// answered are the sessions that have replied. Their logs were written before.
func (s *scrubber) answered(ctx context.Context) (map[place]answers, error) {
	all := map[place]answers{}
	for rec, err := range records.NewReader(s.js).Tail(ctx, bus.OutboundStream, bus.OutboundPrefix+">", 1) {
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", bus.OutboundStream, err)
		}
		out := bus.Outbound{}
		if json.Unmarshal(rec.Data, &out) != nil || !ofLog(out) || time.Since(out.SentAt) > surely {
			continue
		}
		p := place{out.Agent, session.SID(out.Agent, session.Key(out.Session))}
		all[p] = answers{all[p].n + 1, rec.Seq}
	}
	return all, nil
}

// ofLog reports whether a reply was committed to the log of the session that it names. What is
// said without a session, such as to a stranger, has other ids.
func ofLog(out bus.Outbound) bool {
	_, isReply := strings.CutPrefix(out.ID, out.Run+".")
	return out.Kind == bus.KindReply && isReply && out.Run != "" && !strings.Contains(out.Run, ":") && out.Agent != "" && out.Session != ""
}

// lostLogs reports the sessions that have replied, and have no log any more, though they were
// not deleted.
func (s *scrubber) lostLogs(ctx context.Context, a *session.Archive, replied map[place]answers, logs map[place]uint64) error {
	maps.DeleteFunc(replied, func(p place, _ answers) bool { _, ok := logs[p]; return ok })
	if len(replied) == 0 {
		return nil
	}
	if err := s.rest(ctx); err != nil { // the copy that was read may be behind
		return err
	}
	for _, p := range slices.SortedFunc(maps.Keys(replied), comparePlaces) {
		there, err := a.Has(ctx, p.agent, p.sid)
		if err == nil && !there {
			there, err = a.Deleted(ctx, p.agent, p.sid)
		}
		if err != nil {
			return err
		}
		if !there {
			s.found(Finding{
				Kind: LogMissing, Stream: bus.SessionsStream, Subject: session.Subject(p.agent, p.sid), Agent: p.agent, SID: p.sid,
				Text: fmt.Sprintf("%s has replies of this session (%d, the last is message %d), and there is no log of it: it is lost, or was deleted by other means than those of agenthost",
					bus.OutboundStream, replied[p].n, replied[p].last),
			})
		}
	}
	return nil
}
