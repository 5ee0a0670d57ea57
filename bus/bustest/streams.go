package bustest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"agenthost/bus/streams"

	"github.com/nats-io/nats.go/jetstream"
)

// Provision makes the streams of a fleet.
func Provision(t testing.TB, js jetstream.JetStream) {
	t.Helper()
	if err := streams.Provision(t.Context(), js, 1, 0, Log(t)); err != nil {
		t.Fatal(err)
	}
}

// MakeStream makes a stream.
func MakeStream(t testing.TB, js jetstream.JetStream, cfg jetstream.StreamConfig) jetstream.Stream {
	t.Helper()
	s, err := js.CreateStream(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// StreamConfig is how a stream is configured.
func StreamConfig(t testing.TB, js jetstream.JetStream, name string) jetstream.StreamConfig {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatalf("stream %s: %v", name, err)
	}
	return s.CachedInfo().Config
}

// Streams are all there are. They are listed before the caller looks into one, as the client
// gives a list 5 seconds.
func Streams(t testing.TB, js jetstream.JetStream) (all []*jetstream.StreamInfo) {
	t.Helper()
	list := js.ListStreams(t.Context())
	for info := range list.Info() {
		all = append(all, info)
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// Stored are the messages that a stream has now.
func Stored(t testing.TB, js jetstream.JetStream, info *jetstream.StreamInfo) (all []*jetstream.RawStreamMsg) {
	t.Helper()
	s, err := js.Stream(t.Context(), info.Config.Name)
	if err != nil {
		t.Fatal(err)
	}
	state := s.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq && state.Msgs > 0; seq++ {
		msg, err := s.GetMsg(t.Context(), seq) //nolint:forbidigo // tests have no replica that lags
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // deleted, or replaced by a newer one
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, msg)
	}
	return all
}

// ListStreams describes all there is, a line for each.
func ListStreams(t testing.TB, js jetstream.JetStream) []string {
	t.Helper()
	var lines []string
	for _, info := range Streams(t, js) {
		c := info.Config
		words := []string{c.Name, strings.Join(c.Subjects, " "), c.MaxAge.String()}
		flags := map[string]bool{
			"direct": c.AllowDirect, "rollup": c.AllowRollup, "ttl": c.AllowMsgTTL, "schedules": c.AllowMsgSchedules,
			"discard-new": c.Discard == jetstream.DiscardNew, "memory": c.Storage != jetstream.FileStorage,
		}
		for _, flag := range []string{"direct", "rollup", "ttl", "schedules", "discard-new", "memory"} {
			if flags[flag] {
				words = append(words, flag)
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	slices.Sort(lines)
	return lines
}

// Publish stores a message for each of data on subject.
func Publish(t testing.TB, js jetstream.JetStream, subject string, data ...string) {
	t.Helper()
	for _, d := range data {
		if _, err := js.Publish(t.Context(), subject, []byte(d)); err != nil {
			t.Fatal(err)
		}
	}
}
