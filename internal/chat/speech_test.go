package chat

import (
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/cli"
)

func TestSpeech(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		chunks []client.Chunk
		text   string
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
			s.End(tt.text, nil)
			if out.String() != tt.want {
				t.Errorf("got %q, want %q", out.String(), tt.want)
			}
		})
	}
}

// A text that was cut is not written again where all of it was streamed; what is attached is.
func TestAttachmentsBehindASpeech(t *testing.T) {
	t.Parallel()
	for text, tt := range map[string]struct{ said, want string }{
		"hello…": {"hello world", "hello world\n[file: a]\n[file: b]\n"},
		"hello":  {"hel", "hello\n[file: a]\n[file: b]\n"},
		"":       {"", "[file: a]\n[file: b]\n"},
		"other":  {"hm", "hm\nother\n[file: a]\n[file: b]\n"},
	} {
		var out strings.Builder
		s := &Speech{w: &out}
		s.Chunk(client.Chunk{Text: tt.said})
		s.End(text, []string{"[file: a]", "[file: b]"})
		if out.String() != tt.want {
			t.Errorf("%q behind %q: got %q, want %q", text, tt.said, out.String(), tt.want)
		}
	}
}

// Standard error says how to read the whole of an answer that is cut.
func TestCutReply(t *testing.T) {
	t.Parallel()
	var out, said strings.Builder
	app := &cli.App{Stdout: &out, Stderr: &said}
	c := new(client.Client).Conversation("ana", client.Party{From: "cli", Session: "apples"})
	reply := client.Reply{Route: bus.Route{ID: "8Pq3Zk.2", Text: "Once…", Media: []bus.Media{{Kind: "file", Name: bus.WholeText, Size: 900_000, Object: "abc"}}}}
	if err := PrintReply(app, c, reply, NewSpeech(app)); err != nil {
		t.Fatal(err)
	}
	sid, err := client.SessionID("ana", "route/cli/apples")
	if err != nil {
		t.Fatal(err)
	}
	want := "its 900000 bytes are more than a message takes; for the whole: agenthost sessions show ana " + sid + " --run 8Pq3Zk --json\n"
	if out.String() != "Once…\n[file: nats object get AGENT_FILES abc]\n" || !strings.HasSuffix(said.String(), want) {
		t.Errorf("got %q and %q, want %q", out.String(), said.String(), want)
	}
}
