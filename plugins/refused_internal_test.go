package plugins

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// mute is a channel that says nothing.
type mute struct{ Channel }

func (mute) Limits() Limits { return Limits{} }

// What is refused is said, with its cause. A flood of it is a few lines, and hides no other.
func TestRefusedIsSaid(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := New(Account{Channel: "email", Instance: "support"}, mute{}, Parts{Log: zerolog.New(&log)})
	if err := c.Inbox().Take(t.Context(), Received{From: "ana", Text: "hello"}); !errors.Is(err, ErrMalformed) {
		t.Fatalf("a message without an id: %v", err)
	}
	for _, want := range []string{`"level":"warn"`, `"from":"ana"`, `"instance":"support"`, "it has no id"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s: %s", want, log.String())
		}
	}
	for range 1000 {
		c.Inbox().Refused(Received{ID: strings.Repeat("ü", 5000)}, errors.New("odd"))
	}
	if n := strings.Count(log.String(), "\n"); n > 10 || log.Len() > 10_000 {
		t.Errorf("a flood is %d lines, %d bytes", n, log.Len())
	}
	c.few.Warn().Msg("another")
	if !strings.Contains(log.String(), "another") {
		t.Error("the flood hides what else is said")
	}
	before := log.Len()
	c.refused = zerolog.New(&log)
	if err := c.Inbox().Take(t.Context(), Received{Raw: []byte(`{"id":5}`)}); !errors.Is(err, ErrMalformed) || log.Len() > before {
		t.Errorf("what the other side is told: %v, and in the log %s", err, log.String()[before:])
	}
}
