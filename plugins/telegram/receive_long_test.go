//go:build long

package telegram_test

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"

	"agenthost/plugins/telegram/telegramtest"
)

func TestReceiveWithoutTheFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		size   int64
		method string
		refuse []telegramtest.Refusal
		want   string
	}{
		"too large":          {21 << 20, "", nil, "look\n[file a.pdf left out: 21.0 MB, more than the 20.0 MB allowed]"},
		"too large to fetch": {0, "getFile", []telegramtest.Refusal{{Code: 400, Description: "Bad Request: file is too big"}}, "look\n[file a.pdf left out: 20.0 MB, more than the 20.0 MB allowed]"},
		"it is gone":         {0, "getFile", []telegramtest.Refusal{{Code: 400, Description: "Bad Request: wrong file_id"}}, "look\n[file a.pdf left out: it could not be loaded]"},
		"it is not given":    {0, "file", []telegramtest.Refusal{{Code: 404, Description: "Not Found"}}, "look\n[file a.pdf left out: it could not be loaded]"},
		"never":              {0, "file", []telegramtest.Refusal{{Code: 500}, {Code: 500}, {Code: 500}}, "look\n[file a.pdf left out: it could not be loaded]"},
		"at the second try":  {0, "file", []telegramtest.Refusal{{Code: 500}}, "look"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			host, srv := polled(t)
			srv.Refuse(tt.method, tt.refuse...)
			srv.Write(telegramtest.Message{From: ana, Text: "look", File: &telegramtest.File{Kind: "document", Name: "a.pdf", Data: []byte("pdf"), Size: tt.size}})
			if got := host.Next().Text; got != tt.want {
				t.Errorf("the text is %q, want %q", got, tt.want)
			}
			srv.Wait(t, "the acknowledgement", func() bool { return srv.Waiting() == 0 })
		})
	}
}

func TestReceiveOtherUpdates(t *testing.T) {
	t.Parallel()
	person := map[string]any{"id": ana, "first_name": "Ana"}
	message := func(more map[string]any) map[string]any {
		m := map[string]any{"message_id": 5, "date": 1700000000, "from": person, "chat": map[string]any{"id": ana, "type": "private"}}
		maps.Copy(m, more)
		return m
	}
	tests := map[string]struct {
		kind    string
		content any
		want    string // empty: it goes nowhere
	}{
		"a sticker":           {"message", message(map[string]any{"sticker": map[string]any{"emoji": "👍"}}), "👍"},
		"a place":             {"message", message(map[string]any{"location": map[string]any{"latitude": 52.5, "longitude": 13.25}}), "Location: 52.5, 13.25"},
		"a contact":           {"message", message(map[string]any{"contact": map[string]any{"phone_number": "+49", "first_name": "Bob"}}), "Contact: Bob +49"},
		"a link":              {"message", message(map[string]any{"text": "see here", "entities": []any{map[string]any{"type": "text_link", "offset": 4, "length": 4, "url": "https://shop.test"}}}), "see here (https://shop.test)"},
		"a name as mention":   {"message", message(map[string]any{"text": "House hello", "entities": []any{map[string]any{"type": "text_mention", "offset": 0, "length": 5, "user": map[string]any{"id": telegramtest.BotID}}}}), "hello"},
		"a wrong entity":      {"message", message(map[string]any{"text": "hello", "entities": []any{map[string]any{"type": "mention", "offset": 3, "length": 9}}}), "hello"},
		"an endless entity":   {"message", message(map[string]any{"text": "hello", "entities": []any{map[string]any{"type": "mention", "offset": 1, "length": math.MaxInt64}}}), "hello"},
		"an entity of nulls":  {"message", message(map[string]any{"text": "hello", "entities": []any{nil, map[string]any{"type": "text_mention", "user": nil}}}), "hello"},
		"a date of no year":   {"message", message(map[string]any{"text": "hello", "date": math.MaxInt64}), "hello"},
		"all null":            {"message", map[string]any{"message_id": nil, "from": nil, "chat": nil, "text": nil}, ""},
		"a message to itself": {"message", message(map[string]any{"text": "hello", "reply_to_message": message(nil)}), "hello"},
		"a number too large":  {"message", message(map[string]any{"message_id": json.Number("1e400")}), ""},
		"a very long text":    {"message", message(map[string]any{"text": strings.Repeat("x", 10<<20)}), ""},
		"someone has joined":  {"message", message(map[string]any{"new_chat_members": []any{person}}), ""},
		"a post in a channel": {"message", message(map[string]any{"text": "news", "chat": map[string]any{"id": -1, "type": "channel"}}), ""},
		"an unknown update":   {"poll", map[string]any{"id": "1"}, ""},
		"of another shape":    {"message", "text", ""},
		"a press of nothing":  {"callback_query", map[string]any{"id": "1", "from": person}, ""},
		"a foreign press":     {"callback_query", map[string]any{"id": "1", "from": person, "data": "foreign"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			host, srv := polled(t)
			srv.Update(tt.kind, tt.content)
			srv.Write(telegramtest.Message{From: ana, Text: "next"})
			if tt.want != "" {
				if got := host.Next().Text; got != tt.want {
					t.Errorf("the text is %q, want %q", got, tt.want)
				}
			}
			if got := host.Next().Text; got != "next" {
				t.Errorf("next comes %q", got)
			}
		})
	}
}
