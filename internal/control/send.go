package control

import (
	"cmp"
	"context"
	"strings"

	"agenthost/bus"
	"agenthost/client"
)

// A SendRequest gives an agent a message, as agenthost send does.
type SendRequest struct {
	Agent   string `json:"agent"`
	Text    string `json:"text"`
	Session string `json:"session,omitempty" doc:"the name of the session; empty: a new one"`
	ID      string `json:"id,omitempty" doc:"makes it one message, however often it is sent"`
}

func (h Host) send(ctx context.Context, r SendRequest) (client.Receipt, error) {
	if strings.TrimSpace(r.Text) == "" {
		return client.Receipt{}, coded(client.CodeBad, "text: it is empty")
	}
	if !h.Serves(r.Agent) {
		return client.Receipt{}, coded(client.CodeNotFound, "%w", &client.UnknownError{What: "agent", Name: r.Agent, Known: h.known(ctx)})
	}
	from := callerOf(ctx).by("")
	party, err := client.ParseParty(r.Session, from)
	if err != nil {
		return client.Receipt{}, coded(client.CodeBad, "%w", err)
	}
	for _, name := range []struct{ field, text string }{{"id", r.ID}, {"session", party.Session}, {"session", party.From}} {
		if n := len(name.text); n > bus.LongestID { // no agent takes it
			return client.Receipt{}, coded(client.CodeBad, "%s has %d bytes; want at most %d", name.field, n, bus.LongestID)
		}
	}
	m := client.NewMessage(r.Text)
	m.ID = cmp.Or(r.ID, m.ID)
	c := client.New(h.NC, h.JS, client.Options{Door: callerOf(ctx).door()})
	receipt, err := c.Conversation(r.Agent, party).Send(ctx, m)
	return receipt, wrong(err)
}
