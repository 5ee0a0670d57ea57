package commands

import (
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
)

func TestMain(m *testing.M) { bustest.VerifyNoLeaks(m) }

// A number that no dead letter has is often that of its message, the field seq of ls --json.
func TestUnknownDeadLetter(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	for range 2 {
		bustest.Publish(t, b.JS, bus.DeadSubject("ana"), `{"id":"dead:ana:AGENT_INBOUND:62","stream":"AGENT_INBOUND","seq":62}`)
	}
	letters, err := client.OpenDeadLetters(t.Context(), b.JS)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"62":                        `no dead letter 62; the message AGENT_INBOUND 62 (seq) is dead letter 2 (dead_seq): a dead letter is named by its own number`,
		"7":                         `no dead letter 7; want its NUMBER in dead ls, which is dead_seq with --json, or its id`,
		"dead:ana:AGENT_INBOUND:63": `no dead letter "dead:ana:AGENT_INBOUND:63"`,
	} {
		if _, err := letterOf(t.Context(), letters, name); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}
