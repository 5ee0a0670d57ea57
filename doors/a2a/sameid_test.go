package a2a_test

import (
	"strconv"
	"strings"
	"testing"
)

// An answer has the id of its request, to the last digit: a client that counts in nanoseconds
// would not find it otherwise.
func TestIDsOfLargeNumbers(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	own := c.send(said("first", "hi"))
	for i, id := range []string{"1795934000123456789", "-9007199254740995", "18446744073709551615", "12345678901234567890123", "1.0", "1e3", "1.50", "7", `"agenthost:id"`, "null"} {
		for name, tt := range map[string]struct {
			method, params string
			has            string
		}{
			"a result":          {"GetTask", `{"id":"` + own.ID + `"}`, "ana: hi"},
			"no such task":      {"GetTask", `{"id":"x"}`, "-32001"},
			"no params":         {"GetTask", `null`, "-32602"},
			"no method":         {"Nothing", `{}`, "-32601"},
			"an id in the text": {"SendMessage", `{"message":{"messageId":"m` + strconv.Itoa(i) + `","role":"ROLE_USER","parts":[{"data":{"id":"agenthost:id"}}]}}`, `{\"id\":\"agenthost:id\"}`},
			"a stream":          {"SendStreamingMessage", `{"message":{"messageId":"s","role":"ROLE_USER","parts":[{"text":"hi"}]}}`, "TASK_STATE_COMPLETED"},
			"a faulty stream":   {"SubscribeToTask", `{"id":"x"}`, "-32001"},
		} {
			body := string(c.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + tt.method + `","params":` + tt.params + `}`).Body)
			answers := strings.Count(body, `"jsonrpc":"2.0"`)
			if answers == 0 || strings.Count(body, `"id":`+id+`,`) < answers || !strings.Contains(body, tt.has) {
				t.Errorf("%s, id %s: got %s", name, id, body)
			}
		}
	}
}
