package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agenthost/bus"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// largestMedia is up to what size the content of an attachment is in a result.
const largestMedia = 5 << 20

// A summary is the structured content of a result.
type summary struct {
	Session string         `json:"session,omitempty"`
	Run     string         `json:"run,omitempty"`
	Text    string         `json:"text,omitempty"`
	Error   *bus.Error     `json:"error,omitempty"`
	Waiting []waitingEntry `json:"waiting,omitempty"`
}

// A waitingEntry is what a run waits for.
type waitingEntry struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
}

func text(s string) sdk.Content { return &sdk.TextContent{Text: s} }

// failure is the result of a call that has come to no run, or has lost sight of it.
func failure(err error) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{text(err.Error())}}
}

// result is what a final reply is to the client.
func (c *call) result(ctx context.Context, out *bus.Outbound) *sdk.CallToolResult {
	res := &sdk.CallToolResult{
		IsError:           out.Error != nil,
		StructuredContent: summary{Session: c.name, Run: out.Run, Text: out.Text, Error: out.Error},
		Content:           []sdk.Content{text(out.Text)},
	}
	for _, m := range out.Media {
		res.Content = append(res.Content, c.media(ctx, m))
	}
	c.nameSession(res)
	return res
}

// nameSession tells how a conversation goes on that the call has begun: most clients
// show the content of a result to their model, not more.
func (c *call) nameSession(res *sdk.CallToolResult) {
	if c.begun {
		res.Content = append(res.Content, text(fmt.Sprintf("To go on in this conversation, call %s with session %q.", c.agent, c.name)))
	}
}

// goesOn is the result of a call whose host stops: the message is stored, and a model that calls
// again has its work done twice.
func (c *call) goesOn() *sdk.CallToolResult {
	res := failure(fmt.Errorf("the host stops. %s has the message and answers it all the same, in session %q: do not send it again, ask there", c.agent, c.name))
	res.StructuredContent = summary{Session: c.name}
	return res
}

// waits is the result of a call whose run waits for a person.
func (c *call) waits() *sdk.CallToolResult {
	s := summary{Session: c.name}
	var words []string
	for _, out := range c.waiting {
		s.Run = out.Run
		s.Waiting = append(s.Waiting, waitingEntry{ID: out.Call, Kind: out.Kind, Text: out.Text, Options: out.Options})
		words = append(words, fmt.Sprintf("%s\n\nThis waits for an answer. Call %s again with session %q, answers %q and %s.",
			out.Text, c.agent, c.name, out.Call, answers(out)))
	}
	return &sdk.CallToolResult{StructuredContent: s, Content: []sdk.Content{text(strings.Join(words, "\n\n"))}}
}

// answers says what is to be in the text of an answer.
func answers(out *bus.Outbound) string {
	switch {
	case out.Kind == bus.KindApproval:
		return `text "approve" or "deny"`
	case len(out.Options) > 0:
		return fmt.Sprintf("as text one of %q", out.Options)
	default:
		return "the answer as text"
	}
}

// refused is the result of an answer that is not taken.
func (c *call) refused(out *bus.Outbound) *sdk.CallToolResult {
	return &sdk.CallToolResult{
		IsError: true, Content: []sdk.Content{text(out.Text)},
		StructuredContent: summary{Session: c.name, Run: out.Run, Text: out.Text, Error: out.Error},
	}
}

// media is an attachment: its content where that is known and small, else where it is.
func (c *call) media(ctx context.Context, m bus.Media) sdk.Content {
	if m.Object == "" {
		return &sdk.ResourceLink{URI: m.URL, Name: m.Name, MIMEType: m.MIME}
	}
	data, err := c.object(ctx, m.Object)
	kind, _, _ := strings.Cut(m.MIME, "/")
	switch {
	case err != nil:
		return text(fmt.Sprintf("[attachment %s: %v]", m.Name, err))
	case kind == "image":
		return &sdk.ImageContent{Data: data, MIMEType: m.MIME}
	case kind == "audio":
		return &sdk.AudioContent{Data: data, MIMEType: m.MIME}
	default:
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "agenthost:" + m.Object, MIMEType: m.MIME, Blob: data}}
	}
}

func (c *call) object(ctx context.Context, name string) ([]byte, error) {
	files, err := c.server.desk.Client().JetStream().ObjectStore(ctx, bus.FilesBucket)
	if err != nil {
		return nil, err
	}
	info, err := files.GetInfo(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Size > largestMedia {
		return nil, errors.New("too large for a result; see the session")
	}
	return files.GetBytes(ctx, name)
}
