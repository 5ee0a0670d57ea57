package streams

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

type setting struct {
	name  string
	value any
}

// inWords lists settings.
func inWords(list []setting) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = fmt.Sprintf("%s %v", s.name, s.value)
	}
	return strings.Join(words, ", ")
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
	add("discard_new_per_subject", have.DiscardNewPerSubject, have.DiscardNewPerSubject)
	add("max_msg_size", have.MaxMsgSize > 0, have.MaxMsgSize)
	add("max_consumers", have.MaxConsumers > 0, have.MaxConsumers)
	add("max_ack_pending of consumers", have.ConsumerLimits.MaxAckPending > 0, have.ConsumerLimits.MaxAckPending)
	add("inactive_threshold of consumers", have.ConsumerLimits.InactiveThreshold > 0, have.ConsumerLimits.InactiveThreshold.String())
	add("deny_delete", have.DenyDelete && !strings.HasPrefix(have.Name, bucketPrefix), have.DenyDelete)
	add("deny_purge", have.DenyPurge, have.DenyPurge)
	add("persist_mode", have.PersistMode != want.PersistMode, have.PersistMode.String())
	if t := have.SubjectTransform; t != nil {
		add("subject_transform", true, t.Source+" to "+t.Destination)
	}
	if p := have.RePublish; p != nil {
		add("republish", true, p.Source+" to "+p.Destination)
	}
	for _, s := range have.Sources {
		add("sources", true, s.Name)
	}
	return list
}

// lacking are the settings that widen adds to have, as they are.
func lacking(have, want jetstream.StreamConfig) []setting {
	wider, _ := widen(have, want)
	var list []setting
	add := func(name string, differs bool, value any) {
		if differs {
			list = append(list, setting{name, value})
		}
	}
	add("subjects", !slices.Equal(wider.Subjects, have.Subjects), have.Subjects)
	add("allow_direct", wider.AllowDirect != have.AllowDirect, have.AllowDirect)
	add("allow_rollup", wider.AllowRollup != have.AllowRollup, have.AllowRollup)
	add("allow_msg_ttl", wider.AllowMsgTTL != have.AllowMsgTTL, have.AllowMsgTTL)
	add("allow_msg_schedules", wider.AllowMsgSchedules != have.AllowMsgSchedules, have.AllowMsgSchedules)
	add("duplicate_window", wider.Duplicates != have.Duplicates, have.Duplicates.String())
	add("subject_delete_marker_ttl", wider.SubjectDeleteMarkerTTL != have.SubjectDeleteMarkerTTL, have.SubjectDeleteMarkerTTL.String())
	add("metadata", len(wider.Metadata) != len(have.Metadata), have.Metadata)
	return list
}
