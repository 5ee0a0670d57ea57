package fastjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"agenthost/fastjson"
)

// values are what a short way is for and what it must leave alone.
var values = []string{
	`{}`, `[]`, ` {"a" : "b", "c":[1, -2, {"d":null}],"e":true , "f":false} `, `"\"\\\/\b\f\n\r\t"`, `"\u00e9"`, `1.5e-3`, `0`, `-0`, `10`, `"é"`,
	"\"\xff\"", `true`, `null`, strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("[", 101) + strings.Repeat("]", 101),
	``, ` `, `{`, `}`, `[`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":{}`, `{"a":{}]`, `[1,]`, `[,1]`, `[1 2]`, `{"a" "b"}`, `{a:1}`,
	`01`, `-`, `-01`, `+1`, `1.`, `.5`, `1e`, `tru`, `truex`, `nul`, `"`, `"a`, `"\`, `"\x"`, "\"\n\"", "\"\x00\"", `{} {}`, `{}x`, "{}\x00", "\x00",
	strings.Repeat("[", 101), strings.Repeat(`{"a":`, 20_000),
}

func TestValid(t *testing.T) {
	for _, v := range values {
		wantValid(t, []byte(v))
	}
}

func FuzzValid(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(wantValid)
}

// wantValid checks that data is valid to us when it is to encoding/json, and that
// the fields of an object are what that reads.
func wantValid(t *testing.T, data []byte) {
	if got, want := fastjson.Valid(data), json.Valid(data); got != want {
		t.Fatalf("%.60q: got valid %t, want %t", data, got, want)
	}
	fields := map[string]json.RawMessage{}
	if !fastjson.Fields(data, func(name, value []byte) bool {
		plain, ok := fastjson.Plain(append(append([]byte{'"'}, name...), '"'))
		if !ok || !json.Valid(value) {
			return false
		}
		fields[string(plain)] = value
		return true
	}) {
		return
	}
	want := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("%.60q: %v, but its fields were read", data, err)
	}
	if !bytes.Equal([]byte(strings.ToValidUTF8(string(data), "")), data) {
		return // names that are not UTF-8 are not the same any more
	}
	if len(fields) != len(want) {
		t.Fatalf("%.60q: got fields %q, want %q", data, fields, want)
	}
	for name, value := range want {
		if !bytes.Equal(fields[name], value) {
			t.Fatalf("%.60q: field %q: got %s, want %s", data, name, fields[name], value)
		}
		var s string
		if text, ok := fastjson.Plain(value); ok && (json.Unmarshal(value, &s) != nil || s != string(text)) {
			t.Fatalf("%.60q: got %q, want %q", data, text, s)
		}
	}
}

func TestFields(t *testing.T) {
	for data, want := range map[string]bool{
		` {"a":1,"b":"x"} `: true, `{}`: true, `[]`: false, `"a"`: false, `{"a":1}x`: false, `{"a":1.5}`: false, `{"a":1`: false,
	} {
		if got := fastjson.Fields([]byte(data), func(_, _ []byte) bool { return true }); got != want {
			t.Errorf("%s: got %t, want %t", data, got, want)
		}
	}
	n := 0
	if fastjson.Fields([]byte(`{"a":1,"b":2}`), func(_, _ []byte) bool { n++; return false }) || n != 1 {
		t.Errorf("it went on after false: %d fields", n)
	}
}

var texts = []string{
	"", "hello", `a "b" \ /`, "<b>&amp;</b>", "\x00\x01\b\f\n\r\t\x1f\x7f", "é漢😀", "\u2028\u2029\u2027", "\xff", "a\xc3", "\xed\xa0\x80", "\ufffd",
}

func FuzzAppendString(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := fastjson.AppendString([]byte("x"), s); string(got[1:]) != string(want) {
			t.Errorf("got %s, want %s", got[1:], want)
		}
		unescaped, err := fastjson.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := fastjson.AppendText(nil, s); string(got) != string(unescaped) {
			t.Errorf("got %s, want %s", got, unescaped)
		}
	})
}

func BenchmarkValid(b *testing.B) {
	data := []byte(`{"id":"tg-8841","from":"ana","name":"Ana","chat":"-10012","group":true,"text":"hello, what is new today?"}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		fastjson.Valid(data)
	}
}
