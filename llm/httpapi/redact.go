package httpapi

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"agenthost/llm"
)

const (
	longestError = 500 // bytes of what a server says
	wholeKey     = 8   // bytes of a key that is part of no other by chance
)

// secrets are what of a text gives access to something, with what stays of it.
var secrets = []struct {
	found *regexp.Regexp
	left  string
}{
	{regexp.MustCompile(`://[^/?#\s@"']+@`), "://[redacted]@"},
	{regexp.MustCompile(`(?i)(authorization"?\s*[:=]\s*)("[^"]*"|[^\r\n"',;}]+)`), "${1}[redacted]"},
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[a-z0-9._~+/-]{16,}=*`), "${1} [redacted]"},
	{regexp.MustCompile(`(?i)((?:key|token|secret|password|passwd|signature|credential|sig)"?=)[^&\s"',;)}]+`), "${1}[redacted]"},
	{regexp.MustCompile(`(?i)((?:key|token|secret|password|passwd|signature|credential)"\s*:\s*)"[^"]*"`), `${1}"[redacted]"`},
	{regexp.MustCompile(`(?i)(x-[a-z-]*(?:key|token)\s*:\s*)[^\s"',;]+`), "${1}[redacted]"},
	{regexp.MustCompile(`\b(?:sk|pk|rk|gsk|xai|hf|r8|pplx)[-_][A-Za-z0-9_-]{8,}`), "[redacted]"},
	{regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{16,}|\bAKIA[A-Z0-9]{12,}|\bya29\.[A-Za-z0-9_-]{8,}`), "[redacted]"},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`), "[redacted]"},
}

// redacted is text without keys of any provider: a gateway repeats the headers
// that it sent on, and a server the address that was asked for.
func redacted(text string) string {
	for _, s := range secrets {
		text = s.found.ReplaceAllString(text, s.left)
	}
	return text
}

// withoutWord is text without key where key stands for itself.
func withoutWord(text, key string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, key)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		last, _ := utf8.DecodeLastRuneInString(b.String())
		next, _ := utf8.DecodeRuneInString(after)
		if text = after; ofWord(last) || ofWord(next) {
			b.WriteString(key)
		} else {
			b.WriteString("[key]")
		}
	}
}

func ofWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Shown is what a provider's stream that ended with err ends with for others to
// see: the end of ctx wins over every other, and neither a key nor a page of
// text is in it.
func Shown(ctx context.Context, err error, key string) *llm.Error {
	if ctx.Err() != nil {
		return llm.Stopped(ctx)
	}
	e := *llm.AsError(err)
	text := e.Err.Error()
	shown := text
	if len(key) >= wholeKey {
		shown = strings.ReplaceAll(shown, key, "[key]")
	}
	if shown = redacted(shown); key != "" && len(key) < wholeKey { // it may be a part of another key, or of a word
		shown = withoutWord(shown, key)
	}
	if len(shown) > longestError {
		shown = fmt.Sprintf("%s…", strings.ToValidUTF8(shown[:longestError], ""))
	}
	if shown != text {
		e.Err = errors.New(shown)
	}
	return &e
}
