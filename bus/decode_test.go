package bus_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"agenthost/bus"

	"github.com/google/go-cmp/cmp"
)

const (
	noContent  = "it has neither text nor media"
	notUTF8    = "it is not UTF-8"
	tooEarly   = "its JSON ends too early"
	trailing   = "something follows the JSON object"
	nulText    = "its text holds a NUL character"
	badTime    = "deadline or due is not a time such as 2026-01-02T15:04:05Z"
	anyKind    = "it can be delegate, result, event, schedule or heartbeat"
	anyOrder   = "it can be now, next or later"
	noKey      = "looking for beginning of object key string"
	noValue    = "looking for beginning of value"
	tooDeep    = "more than 500 of its objects and arrays stand in each other; send such a value as text"
	mistake    = "its JSON is invalid: invalid character "
	inText     = "in string literal"
	inEscape   = "in string escape code"
	afterValue = "after object key:value pair"
	afterKey   = "after object key"
)

func badPriority(p string) string { return fmt.Sprintf("priority is %q; %s", p, anyOrder) }
func badKind(k string) string     { return fmt.Sprintf("kind is %q; %s", k, anyKind) }
func badReplyTo(s string) string  { return fmt.Sprintf("reply_to %q is not a subject to publish on", s) }
func at(c, where string) string   { return mistake + c + " " + where }

// badInbound is what plugins, broken or hostile, may send, and what they are told.
var badInbound = map[string]struct{ payload, want string }{
	"nothing":                 {"", noContent},
	"a blank":                 {" ", noContent},
	"white space":             {" \t\r\n ", noContent},
	"Unicode white space":     {"\u00a0\u2003", noContent},
	"a NUL":                   {"\x00", nulText},
	"text with a NUL":         {"a\x00b", nulText},
	"a NUL before JSON":       {"\x00{}", nulText},
	"not UTF-8":               {"\xff\xfe", notUTF8},
	"UTF-8 cut short":         {"caf\xc3", notUTF8},
	"overlong UTF-8":          {"\xc0\xaf", notUTF8},
	"a UTF-8 surrogate":       {"\xed\xa0\x80", notUTF8},
	"JSON that is not UTF-8":  {"{\"text\":\"\xff\"}", notUTF8},
	"a key that is not UTF-8": {"{\"\xff\":1,\"text\":\"x\"}", notUTF8},

	"an empty object":    {"{}", noContent},
	"a blank object":     {" { } ", noContent},
	"empty text":         {`{"text":""}`, noContent},
	"blank text":         {`{"text":" \n\t"}`, noContent},
	"escaped blank text": {`{"text":"\u0020\u000a"}`, noContent},
	"null text":          {`{"text":null}`, noContent},
	"no media":           {`{"media":[]}`, noContent},
	"null media":         {`{"media":null}`, noContent},
	"only an id":         {`{"id":"1"}`, noContent},
	"only a sender":      {`{"from":"ana","name":"Ana"}`, noContent},
	"only what we ignore": {
		`{"body":"hello"}`, noContent,
	},
	"a history of nobody":        {`{"text":"x","history":[{"text":"y"}]}`, `history[0]: role is ""; it can be user or assistant`},
	"a history of the system":    {`{"text":"x","history":[{"role":"user","text":"y"},{"role":"system","text":"y"}]}`, `history[1]: role is "system"; it can be user or assistant`},
	"an empty history":           {`{"text":"x","history":[{"role":"user"}]}`, "history[0]: " + noContent},
	"a NUL in a history":         {`{"text":"x","history":[{"role":"user","text":"a\u0000"}]}`, "history[0]: " + nulText},
	"a history without media":    {`{"text":"x","history":[{"role":"user","media":[{}]}]}`, "history[0]: malformed message: media[0] has neither url nor object"},
	"a tool without a name":      {`{"text":"x","tools":[{}]}`, `tools[0]: name is ""; want up to 64 letters, digits, _ and -`},
	"a tool with a dot":          {`{"text":"x","tools":[{"name":"a.b"}]}`, `tools[0]: name is "a.b"; want up to 64 letters, digits, _ and -`},
	"a tool's parameters":        {`{"text":"x","tools":[{"name":"a","parameters":[]}]}`, "tools[0]: parameters is no JSON Schema of an object"},
	"escaped NUL in the text":    {`{"text":"a\u0000b"}`, nulText},
	"NUL alone in the text":      {`{"text":"\u0000"}`, nulText},
	"NUL in the text with media": {`{"text":"\u0000","media":[{"url":"u"}]}`, nulText},
	"a raw NUL in JSON":          {"{\"text\":\"a\x00b\"}", at(`'\x00'`, inText)},

	"only a brace":             {"{", tooEarly},
	"a brace and a blank":      {"{ ", tooEarly},
	"blanks and a brace":       {"\n\t {", tooEarly},
	"an open key":              {`{"te`, tooEarly},
	"a key alone":              {`{"text"`, tooEarly},
	"a key and a colon":        {`{"text":`, tooEarly},
	"an open value":            {`{"text":"hel`, tooEarly},
	"an open escape":           {`{"text":"hel\`, tooEarly},
	"an open object":           {`{"text":"hello"`, tooEarly},
	"an object after a comma":  {`{"text":"hello",`, tooEarly},
	"open media":               {`{"media":[{"url":"u"}`, tooEarly},
	"an open word":             {`{"group":tru`, tooEarly},
	"a brace and text":         {"{hello}", at("'h'", noKey)},
	"two braces":               {"{{}}", at("'{'", noKey)},
	"a Go template":            {"{{.Name}}", at("'{'", noKey)},
	"a closed list":            {"{]", at("']'", noKey)},
	"a list in braces":         {"{[1]}", at("'['", noKey)},
	"a number as key":          {`{1:2}`, at("'1'", noKey)},
	"single quotes":            {`{'text':'hello'}`, at(`'\''`, noKey)},
	"bare key":                 {`{text:"hello"}`, at("'t'", noKey)},
	"a comma at the start":     {`{,"text":"x"}`, at("','", noKey)},
	"a comma at the end":       {`{"text":"x",}`, at("'}'", noKey)},
	"no colon":                 {`{"text" "x"}`, at(`'"'`, afterKey)},
	"an equals sign":           {`{"text"="x"}`, at("'='", afterKey)},
	"no comma":                 {`{"text":"x" "id":"1"}`, at(`'"'`, afterValue)},
	"no value":                 {`{"text":}`, at("'}'", noValue)},
	"undefined":                {`{"text":undefined}`, at("'u'", noValue)},
	"NaN":                      {`{"meta":{"a":NaN}}`, at("'N'", noValue)},
	"a comment":                {"{/* hi */}", at("'/'", noKey)},
	"a line break in a string": {"{\"text\":\"a\nb\"}", at(`'\n'`, inText)},
	"a tab in a string":        {"{\"text\":\"a\tb\"}", at(`'\t'`, inText)},
	"an unknown escape":        {`{"text":"\x"}`, at("'x'", inEscape)},
	"a half unicode escape":    {`{"text":"\u12"}`, at(`'"'`, `in \u hexadecimal character escape`)},
	"a hexadecimal number":     {`{"media":[{"size":0x10}]}`, at("'x'", afterValue)},
	"a leading zero":           {`{"media":[{"size":01}]}`, at("'1'", afterValue)},
	"a leading plus":           {`{"media":[{"size":+1}]}`, at("'+'", noValue)},
	"a dot alone":              {`{"media":[{"size":1.}]}`, at("'}'", "after decimal point in numeric literal")},
	"an open exponent":         {`{"media":[{"size":1e}]}`, at("'}'", "in exponent of numeric literal")},
	"a minus alone":            {`{"media":[{"size":-}]}`, at("'}'", "in numeric literal")},
	"a word misspelt":          {`{"group":trve}`, at("'v'", "in literal true (expecting 'u')")},
	"a stray bracket":          {`{"media":[1}`, at("'}'", "after array element")},

	"a second object":      {`{"text":"x"}{"text":"y"}`, trailing},
	"a second line":        {"{\"text\":\"x\"}\n{\"text\":\"y\"}", trailing},
	"text after":           {`{"text":"x"} hello`, trailing},
	"a brace after":        {`{"text":"x"}}`, trailing},
	"a bracket after":      {`{"text":"x"}]`, trailing},
	"a comma after":        {`{"text":"x"},`, trailing},
	"a NUL after":          {"{\"text\":\"x\"}\x00", trailing},
	"a number after":       {`{"text":"x"}1`, trailing},
	"an open string after": {`{"text":"x"}"`, trailing},

	"id a number":         {`{"id":1,"text":"x"}`, "id cannot be a number"},
	"id true":             {`{"id":true,"text":"x"}`, "id cannot be a bool"},
	"id a list":           {`{"id":["1"],"text":"x"}`, "id cannot be an array"},
	"id an object":        {`{"id":{},"text":"x"}`, "id cannot be an object"},
	"from a number":       {`{"from":42,"text":"x"}`, "from cannot be a number"},
	"from an object":      {`{"from":{"id":42},"text":"x"}`, "from cannot be an object"},
	"name a list":         {`{"name":["a"],"text":"x"}`, "name cannot be an array"},
	"chat a number":       {`{"chat":-10012,"text":"x"}`, "chat cannot be a number"},
	"group a string":      {`{"group":"true","text":"x"}`, "group cannot be a string"},
	"group a number":      {`{"group":1,"text":"x"}`, "group cannot be a number"},
	"thread a number":     {`{"thread":7,"text":"x"}`, "thread cannot be a number"},
	"text a number":       {`{"text":42}`, "text cannot be a number"},
	"text false":          {`{"text":false}`, "text cannot be a bool"},
	"text a list":         {`{"text":["x"]}`, "text cannot be an array"},
	"text an object":      {`{"text":{"en":"x"}}`, "text cannot be an object"},
	"text in capitals":    {`{"TEXT":"x","Text":"x","\u0054ext":"x"}`, noContent},
	"media in capitals":   {`{"media":[{"URL":"u","Object":"o"}]}`, "media[0] has neither url nor object"},
	"media an object":     {`{"media":{"url":"u"}}`, "media cannot be an object"},
	"media a string":      {`{"media":"u"}`, "media cannot be a string"},
	"media of strings":    {`{"media":["u"]}`, "media cannot be a string"},
	"media of lists":      {`{"media":[[]]}`, "media cannot be an array"},
	"media of numbers":    {`{"media":[1]}`, "media cannot be a number"},
	"media kind a number": {`{"media":[{"kind":1,"url":"u"}]}`, "media.kind cannot be a number"},
	"media mime true":     {`{"media":[{"mime":true,"url":"u"}]}`, "media.mime cannot be a bool"},
	"media name a list":   {`{"media":[{"name":[],"url":"u"}]}`, "media.name cannot be an array"},
	"media size a string": {`{"media":[{"size":"1","url":"u"}]}`, "media.size cannot be a string"},
	"media size in parts": {`{"media":[{"size":1.5,"url":"u"}]}`, "media.size cannot be a number 1.5"},
	"media size too much": {`{"media":[{"size":99999999999999999999,"url":"u"}]}`, "media.size cannot be a number 99999999999999999999"},
	"media size endless": {
		`{"media":[{"size":1` + strings.Repeat("0", 1<<20) + `,"url":"u"}]}`,
		"media.size cannot be a number 1" + strings.Repeat("0", 52) + "…",
	},
	"media url a number":    {`{"media":[{"url":1}]}`, "media.url cannot be a number"},
	"media object a number": {`{"media":[{"object":1}]}`, "media.object cannot be a number"},
	"priority a number":     {`{"priority":1,"text":"x"}`, "priority cannot be a number"},
	"priority an object":    {`{"priority":{},"text":"x"}`, "priority cannot be an object"},
	"answers a number":      {`{"answers":1,"text":"x"}`, "answers cannot be a number"},
	"reply_to a number":     {`{"reply_to":1,"text":"x"}`, "reply_to cannot be a number"},
	"sent_at a number":      {`{"sent_at":1700000000,"text":"x"}`, "sent_at cannot be a number"},
	"meta a string":         {`{"meta":"x","text":"x"}`, "meta cannot be a string"},
	"meta a list":           {`{"meta":[1],"text":"x"}`, "meta cannot be an array"},
	"meta beyond float64":   {`{"meta":{"a":1e999},"text":"x"}`, "meta cannot be a number 1e999"},

	"media without a place":    {`{"media":[{"kind":"image"}]}`, "media[0] has neither url nor object"},
	"null in media":            {`{"media":[null]}`, "media[0] has neither url nor object"},
	"second media bare":        {`{"media":[{"url":"u"},{"name":"a"}]}`, "media[1] has neither url nor object"},
	"bare media beside text":   {`{"text":"x","media":[{}]}`, "media[0] has neither url nor object"},
	"media with an empty url":  {`{"media":[{"url":"","object":""}]}`, "media[0] has neither url nor object"},
	"priority unknown":         {`{"priority":"urgent","text":"x"}`, badPriority("urgent")},
	"priority in capitals":     {`{"priority":"NOW","text":"x"}`, badPriority("NOW")},
	"priority with a blank":    {`{"priority":"now ","text":"x"}`, badPriority("now ")},
	"priority endless":         {`{"priority":"` + strings.Repeat("x", 1<<20) + `","text":"x"}`, badPriority(strings.Repeat("x", 60) + "…")},
	"priority cut in a letter": {`{"priority":"x` + strings.Repeat("é", 100) + `","text":"x"}`, badPriority("x" + strings.Repeat("é", 29) + "…")},
	"nested too deep":          {`{"meta":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + "}", tooDeep},
	"nested a little too deep": {`{"text":"x","meta":` + strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500) + "}", tooDeep},
	"unknown, nested too deep": {`{"text":"x","y":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "}", tooDeep},
	"lists nested too deep":    {`{"x":` + strings.Repeat("[", 1<<20), tooDeep},
	"a megabyte of nothing":    {strings.Repeat(" ", 1<<20), noContent},
	"a megabyte of braces":     {strings.Repeat("{", 1<<20), tooDeep},
	"some braces":              {strings.Repeat("{", 99), at("'{'", noKey)},
	"a megabyte, cut":          {`{"text":"` + strings.Repeat("x", 1<<20), tooEarly},
}

func TestDecodeInboundRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range badInbound {
		t.Run(name, func(t *testing.T) {
			_, err := bus.DecodeInbound([]byte(tt.payload))
			wantMalformed(t, err, tt.want)
		})
	}
}

func wantMalformed(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, bus.ErrMalformed) {
		t.Fatalf("got error %v, want one that wraps ErrMalformed", err)
	}
	if want = "malformed message: " + want; err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func TestDecodeInbound(t *testing.T) {
	t.Parallel()
	text := func(s string) bus.Inbound { return bus.Inbound{Text: s} }
	tests := map[string]struct {
		payload string
		want    bus.Inbound
	}{
		"text":             {"hello", text("hello")},
		"text as it comes": {" hello \n", text(" hello \n")},
		"a number":         {"42", text("42")},
		"a string":         {`"x"`, text(`"x"`)},
		"a list":           {"[1]", text("[1]")},
		"a list of objects": {
			`[{"text":"x"}]`, text(`[{"text":"x"}]`),
		},
		"null":                  {"null", text("null")},
		"a word":                {"true", text("true")},
		"text about braces":     {"a {brace}", text("a {brace}")},
		"endless brackets":      {strings.Repeat("[", 1<<20), text(strings.Repeat("[", 1<<20))},
		"a megabyte":            {strings.Repeat("x", 1<<20), text(strings.Repeat("x", 1<<20))},
		"Unicode":               {"héllo 👋 \u202e", text("héllo 👋 \u202e")},
		"an object":             {`{"text":"hello"}`, text("hello")},
		"an object after space": {"\n\t {\"text\":\"hello\"}\r\n", text("hello")},
		"fields in capitals":    {`{"id":"a","from":"cf","text":"hello","Text":"HELLO","FROM":"eve","ID":"other"}`, bus.Inbound{ID: "a", From: "cf", Text: "hello"}},
		"capitals, no id":       {`{"ID":"x","text":"y"}`, text("y")},
		"capitals by number":    {`{"text":"y","\u0054ext":"z","te\u0078T":1}`, text("y")},
		"a name by number":      {`{"te\u0078t":"y","TEXT":1.5}`, text("y")},
		"capitals of media":     {`{"media":[{"url":"u","URL":"v","\u212aind":"w"}],"Media":1}`, bus.Inbound{Media: []bus.Media{{URL: "u"}}}},
		"capitals of the sender": {
			`{"text":"y","Text":1.5,"meta":{"ID":{"media":[{"URL":1}]}}}`,
			bus.Inbound{Text: "y", Meta: map[string]any{"ID": map[string]any{"media": []any{map[string]any{"URL": 1.0}}}}},
		},
		"unknown fields":       {`{"text":"x","lang":"fr","v":{"deep":[1,{}]}}`, text("x")},
		"a lone surrogate":     {`{"text":"\ud800"}`, text("\ufffd")},
		"the last of two keys": {`{"text":"a","text":"b"}`, text("b")},
		"nested deep":          {`{"text":"x","y":` + strings.Repeat("[", 499) + strings.Repeat("]", 499) + "}", text("x")},
		"brackets in the text": {`{"text":"` + strings.Repeat("[{", 9000) + `"}`, text(strings.Repeat("[{", 9000))},
		"media alone": {
			`{"media":[{"kind":"image","mime":"image/png","name":"a.png","size":123,"url":"https://x/a.png"}]}`,
			bus.Inbound{Media: []bus.Media{{Kind: "image", MIME: "image/png", Name: "a.png", Size: 123, URL: "https://x/a.png"}}},
		},
		"an empty answer": {`{"answers":"c1"}`, bus.Inbound{Answers: "c1"}},
		"media by object": {`{"media":[{"object":"abc"}]}`, bus.Inbound{Media: []bus.Media{{Object: "abc"}}}},
		"everything": {
			`{"id":"tg-8841","from":"ana","name":"Ana","chat":"-10012","group":true,"thread":"7","text":"hello",
			"priority":"now","answers":"c1","reply_to":"tg-1","sent_at":"2026-01-02T03:04:05Z","meta":{"a":1}}`,
			bus.Inbound{
				ID: "tg-8841", From: "ana", Name: "Ana", Chat: "-10012", Group: true, Thread: "7", Text: "hello",
				Priority: "now", Answers: "c1", ReplyTo: "tg-1", SentAt: "2026-01-02T03:04:05Z", Meta: map[string]any{"a": 1.0},
			},
		},
		"ids of any kind": {
			`{"id":"*.>","from":"a\u0000b","chat":" \n","thread":"ж/..","text":"x"}`,
			bus.Inbound{ID: "*.>", From: "a\x00b", Chat: " \n", Thread: "ж/..", Text: "x"},
		},
		"next":  {`{"priority":"next","text":"x"}`, bus.Inbound{Priority: "next", Text: "x"}},
		"later": {`{"priority":"later","text":"x"}`, bus.Inbound{Priority: "later", Text: "x"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := bus.DecodeInbound([]byte(tt.payload))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRouteRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	tests := map[string]struct{ payload, want string }{
		"nothing":               {"", noContent},
		"a blank":               {" ", noContent},
		"an empty object":       {"{}", noContent},
		"not UTF-8":             {"\xff", notUTF8},
		"text with a NUL":       {"a\x00", nulText},
		"result with a NUL":     {`{"kind":"result","correlation_id":"1","text":"\u0000"}`, nulText},
		"not JSON":              {"{hello", at("'h'", noKey)},
		"nested too deep":       {`{"text":"x","context":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "}", tooDeep},
		"cut":                   {`{"kind":"delegate"`, tooEarly},
		"trailing":              {`{"text":"x"}.`, trailing},
		"kind unknown":          {`{"kind":"order","text":"x"}`, badKind("order")},
		"kind in capitals":      {`{"kind":"Event","text":"x"}`, badKind("Event")},
		"kind endless":          {`{"kind":"` + long + `","text":"x"}`, badKind(long[:60] + "…")},
		"an answer to no kind":  {`{"text":"x","reply_to":"a"}`, "it has a reply_to and no kind; with kind delegate the result goes there"},
		"kind a number":         {`{"kind":1}`, "kind cannot be a number"},
		"id a number":           {`{"id":1,"text":"x"}`, "id cannot be a number"},
		"from a list":           {`{"from":[],"text":"x"}`, "from cannot be an array"},
		"text an object":        {`{"text":{}}`, "text cannot be an object"},
		"correlation a number":  {`{"correlation_id":1}`, "correlation_id cannot be a number"},
		"reply_to a number":     {`{"reply_to":1}`, "reply_to cannot be a number"},
		"chain a string":        {`{"chain":"kate"}`, "chain cannot be a string"},
		"chain of numbers":      {`{"chain":[1]}`, "chain cannot be a number"},
		"error a string":        {`{"error":"x"}`, "error cannot be a string"},
		"error code a number":   {`{"error":{"code":1}}`, "error.code cannot be a number"},
		"in_reply_to true":      {`{"in_reply_to":true}`, "in_reply_to cannot be a bool"},
		"deadline words":        {`{"text":"x","deadline":"tomorrow"}`, badTime},
		"deadline a number":     {`{"text":"x","deadline":1700000000}`, badTime},
		"deadline without zone": {`{"text":"x","deadline":"2026-01-02T15:04:05"}`, badTime},
		"deadline endless":      {`{"text":"x","deadline":"` + long + `"}`, badTime},
		"result of nothing":     {`{"kind":"result","text":"x"}`, "a result needs the correlation_id of its delegate"},
		"delegate of nothing":   {`{"kind":"delegate"}`, noContent},
		"schedule of nothing":   {`{"kind":"schedule","text":" "}`, noContent},
		"heartbeat of nothing":  {`{"kind":"heartbeat"}`, noContent},
		"answer to a wildcard":  {`{"kind":"delegate","text":"x","reply_to":"a.*"}`, badReplyTo("a.*")},
		"answer to everybody":   {`{"kind":"delegate","text":"x","reply_to":">"}`, badReplyTo(">")},
		"answer to the server":  {`{"kind":"delegate","text":"x","reply_to":"$JS.API.STREAM.DELETE.AGENT_INBOUND"}`, badReplyTo("$JS.API.STREAM.DELETE.AGENT_INBOUND")},
		"answer with a blank":   {`{"kind":"delegate","text":"x","reply_to":"a b"}`, badReplyTo("a b")},
		"answer with a line":    {`{"kind":"delegate","text":"x","reply_to":"a\r\nPUB b"}`, badReplyTo("a\r\nPUB b")},
		"answer to no token":    {`{"kind":"delegate","text":"x","reply_to":"a..b"}`, badReplyTo("a..b")},
		"answer to a dot":       {`{"kind":"delegate","text":"x","reply_to":"a."}`, badReplyTo("a.")},
		"answer to a long name": {`{"kind":"delegate","text":"x","reply_to":"` + long + `"}`, badReplyTo(long[:60] + "…")},
		"answer into a log":     {`{"kind":"delegate","text":"x","reply_to":"agent.session.ana.x"}`, badReplyTo("agent.session.ana.x")},
		"answer as dead letter": {`{"kind":"delegate","text":"x","reply_to":"agent.dead.ana"}`, badReplyTo("agent.dead.ana")},
		"answer as an event":    {`{"kind":"delegate","text":"x","reply_to":"agent.events.ana.heartbeat"}`, badReplyTo("agent.events.ana.heartbeat")},
		"answer as a timer":     {`{"kind":"delegate","text":"x","reply_to":"agent.schedule.ana.x"}`, badReplyTo("agent.schedule.ana.x")},
		"answer as a snapshot":  {`{"kind":"delegate","text":"x","reply_to":"agent.snapshot.ana.x"}`, badReplyTo("agent.snapshot.ana.x")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := bus.DecodeRoute([]byte(tt.payload))
			wantMalformed(t, err, tt.want)
		})
	}
}

func TestDecodeRoute(t *testing.T) {
	t.Parallel()
	deadline := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		payload string
		want    bus.Route
	}{
		"text":      {"wake up", bus.Route{Kind: bus.RouteEvent, Text: "wake up"}},
		"a number":  {"42", bus.Route{Kind: bus.RouteEvent, Text: "42"}},
		"no kind":   {`{"text":"x","hello":1,"reply_to":""}`, bus.Route{Kind: bus.RouteEvent, Text: "x"}},
		"schedule":  {`{"kind":"schedule","text":"x"}`, bus.Route{Kind: bus.RouteSchedule, Text: "x"}},
		"heartbeat": {`{"kind":"heartbeat","text":"x"}`, bus.Route{Kind: bus.RouteHeartbeat, Text: "x"}},
		"a delegate": {
			`{"id":"1","kind":"delegate","from":"kate","correlation_id":"c","text":"x","context":{"a":[1]},"reply_to":"agent.route.kate","chain":["kate"],"deadline":"2026-01-02T15:04:05Z"}`,
			bus.Route{
				ID: "1", Kind: bus.RouteDelegate, From: "kate", CorrelationID: "c", Text: "x", Context: json.RawMessage(`{"a":[1]}`),
				ReplyTo: "agent.route.kate", Chain: []string{"kate"}, Deadline: deadline,
			},
		},
		"a delegate of a program": {`{"kind":"delegate","text":"x","reply_to":"_INBOX.abc.1"}`, bus.Route{Kind: bus.RouteDelegate, Text: "x", ReplyTo: "_INBOX.abc.1"}},
		"an empty result":         {`{"kind":"result","correlation_id":"c"}`, bus.Route{Kind: bus.RouteResult, CorrelationID: "c"}},
		"a failed result": {
			`{"kind":"result","correlation_id":"c","in_reply_to":"1","error":{"code":"internal","message":"m"}}`,
			bus.Route{Kind: bus.RouteResult, CorrelationID: "c", InReplyTo: "1", Error: &bus.Error{Code: "internal", Message: "m"}},
		},
		"fields in capitals": {
			`{"text":"x","Text":"y","KIND":"order","From":"eve","Context":{"a":1},"error":{"code":"c","Code":"d"},"origin":{"subject":"a","Subject":">"}}`,
			bus.Route{Kind: bus.RouteEvent, Text: "x", Error: &bus.Error{Code: "c"}, Origin: &bus.Origin{Subject: "a"}},
		},
		"capitals of the context": {
			`{"text":"x","context":{"ID":[{"URL":"é"}]},"Text":"y"}`,
			bus.Route{Kind: bus.RouteEvent, Text: "x", Context: json.RawMessage(`{"ID":[{"URL":"é"}]}`)},
		},
		"a result with an error of nothing": {
			`{"kind":"result","correlation_id":"c","text":"x","error":{"code":"","message":""}}`,
			bus.Route{Kind: bus.RouteResult, CorrelationID: "c", Text: "x"},
		},
		"times of nothing": {
			`{"kind":"delegate","text":"x","deadline":"","due":"","answered_at":""}`, bus.Route{Kind: bus.RouteDelegate, Text: "x"},
		},
		"fields that are null": {
			`{"kind":"delegate","text":"x","id":null,"from":null,"chain":null,"deadline":null,"error":null,"media":null,"origin":null,"due":null,"answered_at":null}`,
			bus.Route{Kind: bus.RouteDelegate, Text: "x"},
		},
		"an origin of nothing": {
			`{"kind":"delegate","text":"x","origin":{"agent":"","session":"","subject":"","to":""}}`, bus.Route{Kind: bus.RouteDelegate, Text: "x"},
		},
		"a failed result without words": {
			`{"kind":"result","correlation_id":"c","error":{"code":"internal"}}`,
			bus.Route{Kind: bus.RouteResult, CorrelationID: "c", Error: &bus.Error{Code: "internal"}},
		},
		"ids of any kind": {`{"id":"*.>","from":"a\u0000","text":"x"}`, bus.Route{Kind: bus.RouteEvent, ID: "*.>", From: "a\x00", Text: "x"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := bus.DecodeRoute([]byte(tt.payload))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzDecodeInbound(f *testing.F) {
	for _, tt := range badInbound {
		if len(tt.payload) < 1000 {
			f.Add([]byte(tt.payload))
		}
	}
	f.Add([]byte(`{"id":"1","text":"hello","media":[{"url":"u","size":1}],"meta":{"a":[1,null]}}`))
	for _, payload := range goodInbound {
		f.Add([]byte(payload))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		again(t, data, bus.DecodeInbound)
		wantAsRead(t, data)
	})
}

// goodInbound is what has a short way, and what only looks like it.
var goodInbound = []string{
	`{"id":"1","from":"a","name":"b","chat":"c","group":true,"thread":"t","text":"x","priority":"now","answers":"q","reply_to":"r","sent_at":"s"}`,
	`{"text":"a\n\u00e9\ud83d\ude00 \ud800","name":"\u2028é"}`, `{"text":"a","text":null,"group":null,"media":null,"meta":null}`,
	`{"text":"a","Text":"b","ID":1,"te\u0078t":"c","\u0054ext":"d","meta":{"ID":"1","media":{"URL":1}},"media":[{"url":"u","URL":2,"v":{"Kind":1.5}}]}`,
	`{"text":"a","TEXT":1.5,"Media":[],"x":{"y":{"Text":1}},"meta":{}}`,
	`{"text":"a","text":"b","group":true,"group":false}`, `{"Text":"a","ID":"1"}`, `{"te\u0078t":"a"}`, `{"text":"a","unknown":[1.5]}`, ` { "text" : "a" } `,
	`{"media":[{"url":"u","size":5},{"url":"v"}],"media":[{"object":"o"}]}`, `{"text":"x","meta":{"a":1.5e3},"meta":{"b":{"c":null}}}`,
	`{"text":"x","meta":{"a":"` + strings.Repeat("b", 100) + `"},"media":[]}`, `{"text":"x","text":5}`, `{"text":"x","group":"yes"}`, `{"text":"x"} {}`,
}

func TestDecodeInboundAsEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, payload := range goodInbound {
		wantAsRead(t, []byte(payload))
	}
	for _, tt := range badInbound {
		wantAsRead(t, []byte(tt.payload))
	}
}

// wantAsRead checks that an object is read as encoding/json reads what is left of
// it without names that are unknown.
func wantAsRead(t *testing.T, data []byte) {
	t.Helper()
	got, err := bus.DecodeInbound(data)
	if !bus.IsObject(data) || !utf8.Valid(data) {
		return
	}
	want := bus.Inbound{}
	if json.Valid(data) {
		data = known(t, data, reflect.TypeFor[bus.Inbound]())
	}
	if refused := json.Unmarshal(data, &want); refused != nil {
		if err == nil {
			t.Fatalf("%s: it was read, want it refused: %v", data, refused)
		}
		return
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: got %+v, want %+v", data, got, want)
	}
}

// known leaves the fields of typ in the JSON of it, and of what it has in lists.
func known(t *testing.T, data []byte, typ reflect.Type) []byte {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if list := open == json.Delim('['); err != nil || !list && open != json.Delim('{') || list != (typ.Kind() == reflect.Slice) {
		return data
	}
	types := map[string]reflect.Type{}
	if typ.Kind() == reflect.Struct {
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			types[name] = field.Type
		}
	}
	var parts []string
	for dec.More() {
		if typ.Kind() == reflect.Slice {
			parts = append(parts, string(known(t, value(t, dec), typ.Elem())))
			continue
		}
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		if v, of := value(t, dec), types[name.(string)]; of != nil {
			if of.Kind() != reflect.Map {
				v = known(t, v, of)
			}
			parts = append(parts, fmt.Sprintf("%q:%s", name, v))
		}
	}
	if typ.Kind() == reflect.Slice {
		return []byte("[" + strings.Join(parts, ",") + "]")
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

func value(t *testing.T, dec *json.Decoder) json.RawMessage {
	t.Helper()
	var v json.RawMessage
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func FuzzDecodeRoute(f *testing.F) {
	f.Add([]byte("wake up"))
	f.Add([]byte(`{"kind":"delegate","text":"x","reply_to":"a.b","context":{"a":1},"chain":["k"],"deadline":"2026-01-02T15:04:05Z"}`))
	f.Add([]byte(`{"kind":"result","correlation_id":"c","error":{"code":"x"}}`))
	f.Add([]byte(`{"Kind":"order","text":"x","\u0054ext":"y","context":{"A":1},"error":{"Code":1},"origin":{"Subject":"\\"}}`))
	f.Fuzz(func(t *testing.T, data []byte) { again(t, data, bus.DecodeRoute) })
}

// again checks that what was decoded is the same when it is written and read.
func again[T any](t *testing.T, data []byte, decode func([]byte) (T, error)) {
	first, err := decode(data)
	if err != nil {
		if !errors.Is(err, bus.ErrMalformed) || len(err.Error()) > 400 {
			t.Fatalf("got error %v, want a short one that wraps ErrMalformed", err)
		}
		return
	}
	encoded, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := decode(encoded)
	if err != nil {
		t.Fatalf("decode %s: %v", encoded, err)
	}
	if twice, err := json.Marshal(second); err != nil || string(twice) != string(encoded) {
		t.Fatalf("got %s, %v, want %s", twice, err, encoded)
	}
}
