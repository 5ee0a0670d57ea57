package fastjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agenthost/fastjson"
)

func nested(open, inner, closing string, levels int) string {
	return strings.Repeat(open, levels) + inner + strings.Repeat(closing, levels)
}

func TestDepth(t *testing.T) {
	const most = fastjson.Deepest
	wide := "[" + strings.Repeat("[],", 3*most) + "{}]"
	text := `["` + strings.Repeat("[", 3*most) + `\"` + strings.Repeat("{", 3*most) + `"]`
	tests := map[string]struct{ data, want string }{
		"nothing":              {"", ""},
		"flat":                 {`{"a":1}`, `{"a":1}`},
		"wide":                 {wide, wide},
		"brackets in a text":   {text, text},
		"lists to the limit":   {nested("[", "", "]", most), nested("[", "", "]", most)},
		"objects to the limit": {nested(`{"a":`, "1", "}", most), nested(`{"a":`, "1", "}", most)},
		"a list too many":      {nested("[", "", "]", most+1), nested("[", "null", "]", most)},
		"an object too many":   {nested(`{"a":`, `"]"`, "}", most+1), nested(`{"a":`, "null", "}", most)},
		"far too deep": {
			`{"a":` + nested("[", "", "]", 20_000) + `,"b":"]","c":[{}]}`,
			`{"a":` + nested("[", "null", "]", most-1) + `,"b":"]","c":[{}]}`,
		},
		"between others": {
			nested("[", `1,[2,[3]], {"x": [4]},5`, "]", most), nested("[", `1,null, null,5`, "]", most),
		},
		"a text cut short": {nested("[", `"`, "", most+1), nested("[", "", "", most) + "null"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fastjson.TooDeep([]byte(tt.data)); got != (tt.data != tt.want) {
				t.Errorf("too deep: %t", got)
			}
			got := string(fastjson.Shallow([]byte(tt.data)))
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if json.Valid([]byte(tt.data)) && !json.Valid([]byte(got)) {
				t.Error("it is no JSON any more")
			}
		})
	}
}

func FuzzShallow(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := fastjson.Shallow(data)
		if json.Valid(data) && (!json.Valid(got) || fastjson.TooDeep(got)) {
			t.Errorf("%.60q became %.60q", data, got)
		}
	})
}

func BenchmarkTooDeep(b *testing.B) {
	small := `{"id":"tg-8841","media":[{"kind":"image","object":"tg-1"}],"text":"hello, what is new today?"}`
	for name, data := range map[string][]byte{
		"small": []byte(small), "text": []byte(`{"text":"` + strings.Repeat("hello ", 10_000) + `"}`), "wide": []byte(`{"a":[` + strings.Repeat("[],", 10_000) + `[]]}`),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				fastjson.TooDeep(data)
			}
		})
	}
}
