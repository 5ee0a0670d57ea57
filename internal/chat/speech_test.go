package chat

import (
	"strings"
	"testing"

	"agenthost/client"
)

func TestSpeech(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		chunks []client.Chunk
		whole  string
		safe   bool
		want   string
	}{
		"not streamed":    {nil, "hello", false, "hello\n"},
		"streamed":        {[]client.Chunk{{Text: "hel"}, {Offset: 3, Text: "lo"}}, "hello", false, "hello\n"},
		"end missing":     {[]client.Chunk{{Text: "hel"}}, "hello", false, "hello\n"},
		"gap":             {[]client.Chunk{{Text: "h"}, {Offset: 3, Text: "lo"}}, "hello", false, "hello\n"},
		"start missing":   {[]client.Chunk{{Offset: 3, Text: "lo"}}, "hello", false, "hello\n"},
		"from the start":  {[]client.Chunk{{Text: "hel"}, {Text: "hello"}}, "hello", false, "hel\nhello\n"},
		"something else":  {[]client.Chunk{{Text: "hm"}}, "hello", false, "hm\nhello\n"},
		"shortened":       {[]client.Chunk{{Text: "hello world"}}, "hello…", false, "hello world\n"},
		"control on pipe": {nil, "\x1b[31mred", false, "\x1b[31mred\n"},
		"control on tty":  {[]client.Chunk{{Text: "\x1b[31m"}}, "\x1b[31mr\u009be\td\n", true, "[31mre\td\n\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			s := &Speech{w: &out, safe: tt.safe}
			for _, c := range tt.chunks {
				s.Chunk(c)
			}
			s.End(tt.whole)
			if out.String() != tt.want {
				t.Errorf("got %q, want %q", out.String(), tt.want)
			}
		})
	}
}
