package session

import (
	"sync"

	"agenthost/bus/records"
	"agenthost/run"

	"github.com/rs/zerolog"
)

// unknownTypes are the types of events that only newer versions know, as were found in logs. A host
// goes on without them: what they are for does not happen while it serves the session.
type unknownTypes struct{ said sync.Map }

// say logs each type once.
func (u *unknownTypes) say(log zerolog.Logger, rec records.Record, events []run.Event) {
	for i := range events {
		t := events[i].Type
		if t.Known() {
			continue
		}
		if _, had := u.said.LoadOrStore(t, true); !had {
			log.Warn().Str("type", string(t)).Str("subject", rec.Subject).Uint64("seq", rec.Seq).
				Msg("pass over events of a newer version in the logs of sessions: this version does not know what they are for; upgrade it to that version")
		}
	}
}
