package streams

import (
	"maps"
	"slices"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// widen returns have with what want needs added to it.
func widen(have, want jetstream.StreamConfig) (jetstream.StreamConfig, bool) {
	changed := false
	need := func(have *bool, want bool) {
		if want && !*have {
			*have, changed = true, true
		}
	}
	for _, s := range want.Subjects {
		if !takes(have, s) {
			have.Subjects, changed = bus.Minimal(append(slices.Clone(have.Subjects), s)), true
		}
	}
	need(&have.AllowDirect, want.AllowDirect)
	need(&have.AllowRollup, want.AllowRollup)
	need(&have.AllowMsgTTL, want.AllowMsgTTL)
	need(&have.AllowMsgSchedules, want.AllowMsgSchedules)
	if have.Duplicates < want.Duplicates && (have.MaxAge == 0 || have.MaxAge >= want.Duplicates) {
		have.Duplicates, changed = want.Duplicates, true
	}
	if want.SubjectDeleteMarkerTTL > 0 && have.SubjectDeleteMarkerTTL == 0 {
		have.SubjectDeleteMarkerTTL, changed = want.SubjectDeleteMarkerTTL, true
	}
	for k, v := range want.Metadata {
		if have.Metadata[k] == "" {
			have.Metadata = maps.Clone(have.Metadata) // that of the caller stays
			if have.Metadata == nil {
				have.Metadata = map[string]string{}
			}
			have.Metadata[k], changed = v, true
		}
	}
	return have, changed
}

func reportForeign(have, want jetstream.StreamConfig, log zerolog.Logger) {
	foreign := foreignSettings(have, want)
	if len(foreign) == 0 {
		return
	}
	diff := zerolog.Dict()
	for _, s := range foreign {
		diff = diff.Interface(s.name, s.value)
	}
	log.Warn().Str("stream", want.Name).Dict("settings", diff).Msg("stream has settings of its own; they stay as they are")
	warnOfLoss(have, want, log)
}
