package build

import (
	"context"

	"agenthost/bus"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/internal/texts"
	"agenthost/tools"

	"github.com/nats-io/nats.go/jetstream"
)

// remindTool is heartbeat.Reminders as the tool remind needs it.
type remindTool struct{ *heartbeat.Reminders }

func chatOf(call tools.Call) bus.Origin {
	c := call.Chat
	return bus.Origin{Agent: call.Agent, Session: c.Session, Subject: c.Subject, To: c.To, Chat: c.Chat, Thread: c.Thread}
}

func (r remindTool) Make(ctx context.Context, call tools.Call, when, zone, text string) (string, error) {
	e, err := r.Reminders.Make(ctx, heartbeat.Reminder{
		ID: call.ID, Chat: chatOf(call), By: call.Agent, When: when, Zone: zone, Text: text,
	})
	if err != nil {
		return "", err
	}
	return "noted for " + r.Told(texts.Book{}, e), nil
}

func (r remindTool) List(ctx context.Context, call tools.Call) (string, error) {
	list, err := r.Reminders.List(ctx, chatOf(call))
	if err != nil {
		return "", err
	}
	return r.Tell(texts.Book{}, list), nil
}

func (r remindTool) Cancel(ctx context.Context, call tools.Call, id string) (string, error) {
	if err := r.Reminders.Cancel(ctx, chatOf(call), id); err != nil {
		return "", err
	}
	return "cancelled", nil
}

// reminders keeps the reminders of the agents of a configuration.
func reminders(cfg *config.Config, js jetstream.JetStream) *heartbeat.Reminders {
	zones := map[string]string{}
	for _, a := range cfg.Agents {
		if a.Timezone != "" {
			zones[a.ID] = a.Timezone
		}
	}
	return &heartbeat.Reminders{JS: js, Zones: zones}
}
