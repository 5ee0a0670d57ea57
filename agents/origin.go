package agents

import (
	"fmt"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// An origin is where an input comes from, and so where its answer goes. Either
// inbound or route is set.
type origin struct {
	inbound *bus.Inbound
	route   *bus.Route
	subject string // of the input
}

// readOrigin reads what an Input keeps. The payload was checked when it came.
func readOrigin(in run.Input) (origin, error) {
	o := origin{subject: in.Subject}
	var err error
	if _, ok := bus.AgentOf(in.Subject); ok {
		o.route = new(bus.Route)
		*o.route, err = bus.ReadRoute(in.Envelope)
	} else {
		o.inbound = new(bus.Inbound)
		*o.inbound, err = bus.ReadInbound(in.Envelope)
	}
	if err != nil {
		return o, fmt.Errorf("read input %q: %w", in.ID, err)
	}
	return o, nil
}

// key is the session that the input belongs to.
func (o origin) key(id string) session.Key {
	if o.route != nil {
		switch o.route.Kind {
		case bus.RouteDelegate, bus.RouteResult:
			return session.Route(o.route.From, orElse(o.route.CorrelationID, id))
		case bus.RouteHeartbeat:
			return heartbeatKey
		case bus.RouteSchedule:
			if o.reminds() {
				return session.Key(o.route.Origin.Session)
			}
		case bus.RouteEvent:
			return session.Event(orElse(o.route.From, bus.RouteEvent))
		}
		return session.Schedule(orElse(o.route.From, o.route.Kind))
	}
	channel, instance, _ := bus.Channel(o.subject)
	if o.inbound.Group {
		return session.Group(channel, instance, o.inbound.Chat, o.inbound.Thread)
	}
	return session.DM(channel, instance, sender(o.inbound))
}

// reminds reports whether it is a reminder, which comes into the conversation in
// which it was made. Only hosts make those: a program cannot write into one.
func (o origin) reminds() bool {
	return o.route != nil && o.route.Kind == bus.RouteSchedule && o.route.Origin != nil &&
		o.route.Origin.Session != "" && o.subject == bus.DuePrefix+o.route.Origin.Agent
}

// guest reports whether it comes by another stream than what its conversation is
// for: a reminder in a chat, and what a program sends where firings and ticks go.
// Its sequence says nothing beside theirs.
func (o origin) guest() bool {
	return o.reminds() || o.route != nil && !o.due() && (o.route.Kind == bus.RouteSchedule || o.route.Kind == bus.RouteHeartbeat)
}

// due reports whether a host or the server's clock sent it, as only they can.
func (o origin) due() bool { return strings.HasPrefix(o.subject, bus.DuePrefix) }

// proactive reports whether it is a firing, a tick or an event whose
// answer is for somebody who has not asked just now.
func (o origin) proactive() bool {
	return o.route != nil && o.route.Origin != nil && o.trigger() != run.ByMessage && o.trigger() != run.ByDelegate
}

// outbound is where what is said to the sender of an inbound message goes.
func (o origin) outbound() string {
	return bus.OutboundPrefix + strings.TrimPrefix(o.subject, bus.InboundPrefix)
}

func sender(in *bus.Inbound) string { return orElse(in.From, "anonymous") }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// trigger is what kind of run the input starts.
func (o origin) trigger() run.Trigger {
	if o.route == nil {
		return run.ByMessage
	}
	switch o.route.Kind {
	case bus.RouteDelegate:
		return run.ByDelegate
	case bus.RouteSchedule:
		return run.BySchedule
	case bus.RouteHeartbeat:
		return run.ByHeartbeat
	default:
		return run.ByEvent
	}
}

// message is what the model is told.
func (o origin) message() llm.Message {
	if o.route != nil {
		m := llm.Message{Role: llm.User}
		if text := routeText(o.route); text != "" {
			m.Parts = append(m.Parts, llm.Part{Type: llm.Text, Text: text})
		}
		return attach(m, o.route.Media)
	}
	m := llm.Message{Role: llm.User}
	if o.inbound.Group {
		m.Name = orElse(o.inbound.Name, sender(o.inbound))
	}
	if o.inbound.Text != "" {
		m.Parts = append(m.Parts, llm.Part{Type: llm.Text, Text: o.inbound.Text})
	}
	return attach(m, o.inbound.Media)
}

func attach(m llm.Message, media []bus.Media) llm.Message {
	for _, a := range media {
		m.Parts = append(m.Parts, llm.Part{Type: llm.MediaPart, Media: &llm.Media{
			Kind: a.Kind, MIME: a.MIME, Name: a.Name, Size: a.Size, URL: a.URL, Object: a.Object,
		}})
	}
	return m
}

func routeText(r *bus.Route) string {
	if len(r.Context) == 0 || string(r.Context) == "{}" || string(r.Context) == "null" {
		return r.Text
	}
	return r.Text + "\n\nContext:\n" + string(r.Context)
}

// merge makes one user message of several. Where they are of different people
// each line says whose it is.
func merge(messages []llm.Message) llm.Message {
	if len(messages) == 1 {
		return messages[0]
	}
	several := slices.ContainsFunc(messages, func(m llm.Message) bool { return m.Name != messages[0].Name })
	all := llm.Message{Role: llm.User}
	if !several {
		all.Name = messages[0].Name
	}
	var texts []string
	for _, m := range messages {
		text := m.Text()
		if several && text != "" {
			text = m.Name + ": " + text
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		all.Parts = append(all.Parts, llm.Part{Type: llm.Text, Text: strings.Join(texts, "\n")})
	}
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type != llm.Text {
				all.Parts = append(all.Parts, p)
			}
		}
	}
	return all
}
