package gemini_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"agenthost/llm"
	"agenthost/llm/llmtest"

	"github.com/google/go-cmp/cmp"
)

// TestQuirks are answers in some other way than the usual, understood all the
// same, however they are cut.
func TestQuirks(t *testing.T) {
	long := strings.Repeat("é", 3<<19)
	end := events(finish("STOP"))
	usage := func(u string) string { return `{"usageMetadata":{` + u + `}}` }
	tests := map[string]struct {
		body   string
		text   string
		finish llm.Finish
		usage  llm.Usage
	}{
		"plain newlines":      {strings.ReplaceAll(events(say("a"))+end, "\r", ""), "a", llm.FinishStop, llm.Usage{}},
		"comments and blanks": {": hi\r\n\r\n" + events(say("a")) + ":\r\ndata:\r\n\r\ndata: \r\n\r\n" + end, "a", llm.FinishStop, llm.Usage{}},
		"[DONE]":              {events(say("a")) + end + "data: [DONE]\n\n", "a", llm.FinishStop, llm.Usage{}},
		"no last newline":     {events(say("a")) + strings.TrimSpace(end), "a", llm.FinishStop, llm.Usage{}},
		"a mark of byte order": {
			"\ufeff" + events(say("a")) + end, "a", llm.FinishStop, llm.Usage{},
		},
		"a long line":      {events(say(long)) + end, long, llm.FinishStop, llm.Usage{}},
		"named events":     {"event: message\n" + events(say("a")) + end, "a", llm.FinishStop, llm.Usage{}},
		"a list":           {"\n[" + say("a") + "\n,\n" + say("é") + ",\n" + finish("STOP") + "\n]\n", "aé", llm.FinishStop, llm.Usage{}},
		"a whole answer":   {`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"MAX_TOKENS"}]}`, "a", llm.FinishLength, llm.Usage{}},
		"finish in each":   {events(`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`, say("b")) + end, "ab", llm.FinishStop, llm.Usage{}},
		"an id for each":   {events(of(`"1"`, say("a")), of("2", finish("STOP")), of("null", say("b")), of(`"3"`, say("c"))) + end, "abc", llm.FinishStop, llm.Usage{}},
		"finish of one id": {events(of(`"1"`, finish("STOP")), of(`"1"`, say("a")), of(`"2"`, finish("STOP"))), "a", llm.FinishStop, llm.Usage{}},
		"a later finish":   {events(say("a")) + end + events(finish("MAX_TOKENS")), "a", llm.FinishLength, llm.Usage{}},
		"usage in strings": {events(say("a"), usage(`"promptTokenCount":"3","candidatesTokenCount":4.0,"thoughtsTokenCount":[]`)) + end, "a", llm.FinishStop, llm.Usage{Input: 3, Output: 4}},
		"usage a list":     {events(say("a"), `{"usageMetadata":[]}`) + end, "a", llm.FinishStop, llm.Usage{}},
		"empty objects as lists": {
			events(say("a"), `{"candidates":[{"content":[],"finishReason":"STOP","finishMessage":{}}],"promptFeedback":[]}`), "a", llm.FinishStop, llm.Usage{},
		},
		"finish a number":    {events(say("a"), `{"candidates":[{"finishReason":1}],"responseId":7,"modelVersion":3}`), "a", llm.FinishStop, llm.Usage{}},
		"finish unspecified": {events(say("a"), finish("FINISH_REASON_UNSPECIFIED")) + end, "a", llm.FinishStop, llm.Usage{}},
		"a finish of tomorrow": {
			events(say("a"), finish("ALL_SAID")), "a", llm.FinishStop, llm.Usage{},
		},
		"parts it does not know": {events(parts(`{"executableCode":{"code":"1"}}`, text("a"))) + end, "a", llm.FinishStop, llm.Usage{}},
		"another candidate":      {events(`{"candidates":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]}}]}`) + end, "a", llm.FinishStop, llm.Usage{}},
		"nothing said":           {end, "", llm.FinishStop, llm.Usage{}},
		"a refused prompt":       {events(`{"promptFeedback":{"blockReason":"SAFETY"}}`), "", llm.FinishContentFilter, llm.Usage{}},
		"feedback that is none":  {events(`{"promptFeedback":{}}`, say("a")) + end, "a", llm.FinishStop, llm.Usage{}},
		"the last usage counts": {
			events(usage(`"promptTokenCount":10`), say("a"), usage(`"promptTokenCount":10,"candidatesTokenCount":1`)) + end +
				events(usage(`"promptTokenCount":10,"toolUsePromptTokenCount":2,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":5`)),
			"a", llm.FinishStop,
			llm.Usage{Input: 12, CacheRead: 4, Output: 8, Reasoning: 5},
		},
	}
	for name, tt := range tests {
		for way, cut := range map[string]func(io.Reader) io.Reader{"whole": whole, "byte by byte": iotest.OneByteReader} {
			t.Run(name+" "+way, func(t *testing.T) {
				p := provider(t, llm.Config{}, body(func() io.Reader { return cut(strings.NewReader(tt.body)) }))
				a := read(t, p, llmtest.Request())
				if a.Err != nil || a.Message.Text() != tt.text || a.Finish != tt.finish || a.Usage != tt.usage {
					t.Errorf("got %.40q, %s, %+v, %v", a.Message.Text(), a.Finish, a.Usage, a.Err)
				}
			})
		}
	}
}

func whole(r io.Reader) io.Reader { return r }

func TestFinish(t *testing.T) {
	tests := map[string]llm.Finish{"STOP": llm.FinishStop, "MAX_TOKENS": llm.FinishLength}
	for _, reason := range []string{
		"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
	} {
		tests[reason] = llm.FinishContentFilter
	}
	for reason, want := range tests {
		if a := read(t, serve(t, stream(events(finish(reason)))), llmtest.Request()); a.Err != nil || a.Finish != want {
			t.Errorf("%s: got %q, %v, want %q", reason, a.Finish, a.Err, want)
		}
	}
	for _, reason := range []string{
		"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE",
		"MALFORMED_RESPONSE", "NO_IMAGE", "IMAGE_OTHER", "OTHER",
	} {
		chunk := fmt.Sprintf(`{"candidates":[{"finishReason":%q,"finishMessage":"so it is"}],"usageMetadata":{"promptTokenCount":3}}`, reason)
		a := read(t, serve(t, stream(events(chunk))), llmtest.Request())
		e := llm.AsError(a.Err)
		if e == nil || e.Code != llm.CodeProviderUnavailable || !e.Transient || !strings.HasSuffix(e.Error(), ": so it is") {
			t.Errorf("%s: got %v, want a transient provider_unavailable", reason, a.Err)
		}
		if a.Usage.Input != 3 {
			t.Errorf("%s: got %+v, want the usage", reason, a.Usage)
		}
	}
}

// TestFinishAsNumber has reasons as the numbers of Google's enumerations, as from a proxy that
// does not write their names. Those of the Gemini API and of Vertex are the same up to 5; from 6
// to 8 both are filters, and none of what comes behind that is a whole answer.
func TestFinishAsNumber(t *testing.T) {
	t.Parallel()
	number := func(n int) string { return fmt.Sprintf(`{"candidates":[{"finishReason":%d}]}`, n) }
	for n, want := range []llm.Finish{
		0: llm.FinishStop, 1: llm.FinishStop, 2: llm.FinishLength, 3: llm.FinishContentFilter, 4: llm.FinishContentFilter,
		6: llm.FinishContentFilter, 7: llm.FinishContentFilter, 8: llm.FinishContentFilter,
	} {
		body := events(say("a"), number(n))
		if n == 0 { // it goes on
			body += events(finish("STOP"))
		}
		if a := read(t, serve(t, stream(body)), llmtest.Request()); want != "" && (a.Err != nil || a.Finish != want) {
			t.Errorf("%d: got %q, %v, want %q", n, a.Finish, a.Err, want)
		}
	}
	for _, n := range []int{5, 9, 10, 16, 99, -1} {
		a := read(t, serve(t, stream(events(number(n)))), llmtest.Request())
		if e := llm.AsError(a.Err); e == nil || e.Code != llm.CodeProviderUnavailable || !e.Transient || !strings.Contains(e.Error(), fmt.Sprint("reason ", n)) {
			t.Errorf("%d: got %q, %v, want a transient provider_unavailable with the number", n, a.Finish, a.Err)
		}
	}
}

// TestUsageComesWithWhatIsSaid has no deltas that only count, and none that say
// what is known.
func TestUsageComesWithWhatIsSaid(t *testing.T) {
	chunk := func(s string, n int) string {
		return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":%q}]}}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":%d}}`, s, n)
	}
	a := read(t, serve(t, stream(events(chunk("a", 1), chunk("b", 1), chunk("c", 2), finish("STOP")))), llmtest.Request())
	want := []llm.Delta{
		{Text: "a", Usage: &llm.Usage{Input: 1, Output: 1}},
		{Text: "b"},
		{Text: "c", Usage: &llm.Usage{Input: 1, Output: 2}},
		{Finish: llm.FinishStop},
	}
	if diff := cmp.Diff(want, a.Deltas); diff != "" {
		t.Error(diff)
	}
}
