package run

import (
	"strings"

	"agenthost/llm"
)

// What is not text, in tokens: the frame of a message, and an attachment.
const (
	frameTokens = 4
	mediaTokens = 1000
	// mediaBytes are a token of what is read or heard from its beginning to its end: pages,
	// sound and film. An image is looked at in one size, however many bytes it has.
	mediaBytes = 256
)

// Estimate guesses the tokens of messages from the classes of their runes. No
// model counts like that; it is meant to be a little too high.
func Estimate(messages []llm.Message) int {
	tokens := 0
	for i := range messages {
		tokens += estimate(&messages[i])
	}
	return tokens
}

// estimate rounds up for each message, so that a sum is the same whichever way
// it is added up.
func estimate(m *llm.Message) int {
	quarters := 4 * frameTokens
	for i := range m.Parts {
		p := &m.Parts[i]
		quarters += weigh(p.Text) + weigh(p.Name) + weigh(string(p.Args)) + weigh(string(p.Meta))
		if p.Media != nil {
			quarters += 4 * weighMedia(p.Media)
		}
	}
	return (quarters + 3) / 4
}

// weighMedia counts tokens of an attachment. Without its content it is as long as most are.
func weighMedia(m *llm.Media) int {
	if strings.HasPrefix(m.MIME, "image/") {
		return mediaTokens
	}
	return max(mediaTokens, len(m.Data)/mediaBytes)
}

// EstimateRequest guesses the tokens of all that a model is sent.
func EstimateRequest(req llm.Request) int {
	quarters := weigh(req.System) + weigh(string(req.Schema))
	for i := range req.Tools {
		t := &req.Tools[i]
		quarters += 4*frameTokens + weigh(t.Name) + weigh(t.Description) + weigh(string(t.Schema))
	}
	return Estimate(req.Messages) + (quarters+3)/4
}

// weigh counts quarters of a token.
func weigh(s string) int {
	n := 0
	for _, r := range s {
		n += quarters(r)
	}
	return n
}

// quarters is the share of a rune in a token: about four letters of English
// make one, two of most other alphabets, and an ideograph is one by itself.
func quarters(r rune) int {
	switch {
	case r == ' ' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z':
		return 1
	case r < 0x1100: // punctuation, digits, and the alphabets
		return 2
	case r < 0x10000:
		return 4
	default: // emoji, rare signs
		return 8
	}
}
