package control

import (
	"context"

	"agenthost/client"
	"agenthost/session"
)

// stream answers a client that joins a stream late. Only the host of the
// run answers, with one message or more.
func (h Host) stream(_ context.Context, asked client.StreamRequest) (Answers, error) {
	answers := Answers{}
	for _, c := range h.Fleet.Speaking(asked.Agent, session.Key(asked.Session)) {
		answers = append(answers, c)
	}
	return answers, nil
}
