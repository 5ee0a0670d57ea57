package doors_test

import (
	"testing"

	"agenthost/client"
	"agenthost/doors"
)

func TestText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		chunks      []client.Chunk
		reply, want string
	}{
		"whole":                        {nil, "all", "all"},
		"in pieces":                    {[]client.Chunk{{Run: "r", Turn: 1, Text: "a"}, {Run: "r", Turn: 1, Offset: 1, Text: "ll"}}, "all", "all"},
		"the rest":                     {[]client.Chunk{{Run: "r", Turn: 1, Text: "a"}}, "all", "all"},
		"reasoning":                    {[]client.Chunk{{Run: "r", Turn: 1, Reasoning: "hm"}}, "all", "all"},
		"before tools":                 {[]client.Chunk{{Run: "r", Turn: 1, Text: "let me see"}, {Run: "r", Turn: 2, Text: "all"}}, "all", "let me see\n\nall"},
		"before tools, nothing after":  {[]client.Chunk{{Run: "r", Turn: 1, Text: "let me see"}, {Run: "r", Turn: 2}}, "all", "let me see\n\nall"},
		"taken back":                   {[]client.Chunk{{Run: "r", Turn: 1, Text: "no"}, {Run: "r", Turn: 1, Restart: true}, {Run: "r", Turn: 1, Text: "a"}}, "all", "no\n\nall"},
		"tried again by the next host": {[]client.Chunk{{Run: "r", Turn: 1, Text: "a"}, {Run: "r", Attempt: 2, Turn: 1, Text: "a"}, {Run: "r", Attempt: 2, Turn: 1, Offset: 1, Text: "ll"}}, "all", "a\n\nall"},
		"another reply":                {[]client.Chunk{{Run: "r", Turn: 1, Text: "no"}}, "all", "no\n\nall"},
	} {
		var text doors.Text
		got := ""
		for _, c := range tt.chunks {
			got += text.Chunk(c)
		}
		if got += text.End(tt.reply); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
