package streams

import (
	"slices"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// shortAge is for how long hosts may be away, such as for a restart of all.
const shortAge = time.Hour

// losing are the settings of have by which NATS deletes what hosts have not read yet, or need for ever.
func losing(have, want jetstream.StreamConfig) []setting {
	needed := []string{bus.InboundStream, bus.RoutesStream, bus.SchedulesStream, bus.OutboundStream, bus.SessionsStream}
	if !slices.Contains(needed, have.Name) {
		return nil
	}
	names := []string{"max_age"}
	if have.MaxAge == 0 || have.MaxAge >= shortAge && want.MaxAge > 0 {
		names = nil
	}
	if have.Discard == jetstream.DiscardOld {
		names = append(names, "max_bytes", "max_msgs")
	}
	if !have.DiscardNewPerSubject {
		names = append(names, "max_msgs_per_subject")
	}
	return slices.DeleteFunc(foreignSettings(have, want), func(s setting) bool { return !slices.Contains(names, s.name) })
}

// warnOfLoss logs the settings that lose messages.
func warnOfLoss(have, want jetstream.StreamConfig, log zerolog.Logger) {
	if list := losing(have, want); len(list) > 0 {
		log.Error().Str("stream", want.Name).Str("settings", inWords(list)).
			Msg("NATS deletes messages of this stream that hosts have not read, or still need: change these settings back with the nats command")
	}
}
