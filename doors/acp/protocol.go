package acp

import "encoding/json"

// protocolVersion is that of the protocol which is spoken here.
const protocolVersion = 1

type initializeRequest struct {
	ClientCapabilities struct {
		Elicitation *struct {
			Form *struct{} `json:"form"`
		} `json:"elicitation"`
	} `json:"clientCapabilities"`
}

type initializeResponse struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities agentCapabilities `json:"agentCapabilities"`
	AgentInfo         implementation    `json:"agentInfo"`
	AuthMethods       []any             `json:"authMethods"`
}

type agentCapabilities struct {
	LoadSession        bool               `json:"loadSession"`
	PromptCapabilities promptCapabilities `json:"promptCapabilities"`
}

type promptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type newRequest struct {
	MCPServers []json.RawMessage `json:"mcpServers"`
}

type sessionRequest struct {
	SessionID string `json:"sessionId"`
}

type promptRequest struct {
	sessionRequest
	Prompt []block `json:"prompt"`
	Meta   struct {
		ID string `json:"agenthost/id"`
	} `json:"_meta"`
}

type promptResponse struct {
	StopReason string `json:"stopReason"`
}

// Why a turn ends.
const (
	endTurn         = "end_turn"
	maxTokens       = "max_tokens"
	maxTurnRequests = "max_turn_requests"
	refusal         = "refusal"
	cancelled       = "cancelled"
)

// A block is a piece of content.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"`
	MIMEType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     string `json:"blob,omitempty"`
}

func textBlock(text string) *block { return &block{Type: "text", Text: text} }

// An update is a session/update. Content is a block of a chunk, or what a tool made.
type update struct {
	Kind string `json:"sessionUpdate"`

	Content any `json:"content,omitempty"`
	toolCall
}

// A toolCall is that of an update and of a request for permission.
type toolCall struct {
	ID       string          `json:"toolCallId,omitempty"`
	Title    string          `json:"title,omitempty"`
	ToolKind string          `json:"kind,omitempty"`
	Status   string          `json:"status,omitempty"`
	RawInput json.RawMessage `json:"rawInput,omitempty"`
}

// The kinds of updates.
const (
	userChunk    = "user_message_chunk"
	agentChunk   = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
	toolBegun    = "tool_call"
	toolChanged  = "tool_call_update"
)

// How a tool call is.
const (
	pending    = "pending"
	inProgress = "in_progress"
	completed  = "completed"
	failed     = "failed"
)

// A madeContent is what a tool made.
type madeContent struct {
	Type    string `json:"type"` // content
	Content *block `json:"content"`
}

func made(text string) []madeContent { return []madeContent{{"content", textBlock(text)}} }

type permissionRequest struct {
	SessionID string         `json:"sessionId"`
	ToolCall  permissionCall `json:"toolCall"`
	Options   []option       `json:"options"`
}

type permissionCall struct {
	toolCall
	Content []madeContent `json:"content,omitempty"`
}

type option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type permissionResponse struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

type elicitationRequest struct {
	SessionID string         `json:"sessionId"`
	Mode      string         `json:"mode"`
	Message   string         `json:"message"`
	Schema    map[string]any `json:"requestedSchema"`
}

type elicitationResponse struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content"`
}
