package message

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/llm"
)

// Message is what the model is told.
func (o Origin) Message() llm.Message {
	if o.Route != nil {
		m := llm.Message{Role: llm.User}
		if text := routeText(o.Route); text != "" {
			m.Parts = append(m.Parts, llm.Part{Type: llm.Text, Text: text})
		}
		return attach(m, o.Route.Media)
	}
	m := llm.Message{Role: llm.User}
	if o.Inbound.Group {
		m.Name = cmp.Or(o.Inbound.Name, Sender(o.Inbound))
	}
	if o.Inbound.Text != "" {
		m.Parts = append(m.Parts, llm.Part{Type: llm.Text, Text: o.Inbound.Text})
	}
	return attach(m, o.Inbound.Media)
}

// ClientTools are those that the client of a door runs itself.
func (o Origin) ClientTools() []bus.ClientTool {
	if o.Inbound == nil || len(o.Inbound.Tools) == 0 {
		return nil
	}
	if channel, _, _ := bus.Channel(o.Subject); !bus.IsDoor(channel) {
		return nil
	}
	return o.Inbound.Tools
}

// History is what was said before, as the client of a door keeps it. Other channels
// cannot put words into an agent's mouth.
func (o Origin) History() (list []llm.Message) {
	if o.Inbound == nil {
		return nil
	}
	if channel, _, _ := bus.Channel(o.Subject); !bus.IsDoor(channel) {
		return nil
	}
	for _, turn := range o.Inbound.History {
		m := llm.Message{Role: llm.Role(turn.Role)}
		if turn.Text != "" {
			m.Parts = append(m.Parts, llm.Part{Type: llm.Text, Text: turn.Text})
		}
		list = append(list, attach(m, turn.Media))
	}
	return list
}

func routeText(r *bus.Route) string {
	if len(r.Context) == 0 || string(r.Context) == "{}" || string(r.Context) == "null" {
		return r.Text
	}
	return r.Text + "\n\nContext:\n" + string(r.Context)
}

// Merge makes one user message of several. Where they are of different people
// each line says whose it is.
func Merge(messages []llm.Message) llm.Message {
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

// Sent are attachments as channels read them.
func Sent(media []*llm.Media) []bus.Media {
	var list []bus.Media
	for _, m := range media {
		list = append(list, bus.Media{Kind: m.Kind, MIME: m.MIME, Name: m.Name, Size: m.Size, URL: m.URL, Object: m.Object})
	}
	return list
}

// WithMedia is what an agent's result says, with its attachments in words: a
// model reads results as text.
func WithMedia(result *bus.Route) string {
	b := strings.Builder{}
	b.WriteString(result.Text)
	for _, m := range result.Media {
		fmt.Fprintf(&b, "\n[attached %s: %s]", cmp.Or(m.Kind, "file"), cmp.Or(m.URL, "object "+m.Object))
	}
	return strings.TrimPrefix(b.String(), "\n")
}

func attach(m llm.Message, media []bus.Media) llm.Message {
	for _, a := range media {
		m.Parts = append(m.Parts, llm.Part{Type: llm.MediaPart, Media: &llm.Media{
			Kind: a.Kind, MIME: a.MIME, Name: a.Name, Size: a.Size, URL: a.URL, Object: a.Object,
		}})
	}
	return m
}
