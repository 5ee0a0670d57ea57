package streams

import (
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
}

type setting struct {
	name  string
	value any
}

// foreignSettings are those of have that another program chose.
func foreignSettings(have, want jetstream.StreamConfig) []setting {
	var list []setting
	add := func(name string, differs bool, value any) {
		if differs {
			list = append(list, setting{name, value})
		}
	}
	add("allow_rollup", have.AllowRollup && !want.AllowRollup && !have.AllowMsgSchedules, have.AllowRollup)
	add("replicas", have.Replicas != want.Replicas, have.Replicas)
	add("max_age", have.MaxAge != want.MaxAge, have.MaxAge.String())
	add("retention", have.Retention != want.Retention, have.Retention.String())
	add("storage", have.Storage != want.Storage, have.Storage.String())
	add("discard", have.Discard != want.Discard, have.Discard.String())
	add("max_bytes", have.MaxBytes > 0, have.MaxBytes)
	add("max_msgs", have.MaxMsgs > 0, have.MaxMsgs)
	add("max_msgs_per_subject", have.MaxMsgsPerSubject > 0 && have.MaxMsgsPerSubject != want.MaxMsgsPerSubject, have.MaxMsgsPerSubject)
	add("max_msg_size", have.MaxMsgSize > 0, have.MaxMsgSize)
	add("max_consumers", have.MaxConsumers > 0, have.MaxConsumers)
	add("persist_mode", have.PersistMode != want.PersistMode, have.PersistMode.String())
	if t := have.SubjectTransform; t != nil {
		add("subject_transform", true, t.Source+" to "+t.Destination)
	}
	return list
}
