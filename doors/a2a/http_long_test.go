//go:build long

package a2a_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	agenthost "agenthost/client"
)

// While an agent thinks, something goes out: a blank before an answer that comes whole, a
// comment in a stream. Neither is in the way of what comes then.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	streamed := c.open(c.request("SendStreamingMessage", object{"message": said("m1", "endless", "contextId", "streamed")}))
	defer func() { _ = streamed.Body.Close() }()
	whole := c.open(c.request("SendMessage", object{"message": said("m2", "endless", "contextId", "whole")}))
	defer func() { _ = whole.Body.Close() }()

	answer, events := bufio.NewReader(whole.Body), bufio.NewReader(streamed.Body)
	if blank, err := answer.ReadByte(); blank != ' ' || err != nil {
		t.Errorf("before the answer: got %q, %v", blank, err)
	}
	var comment string
	for err := error(nil); !strings.HasPrefix(comment, ":") && err == nil; {
		comment, err = events.ReadString('\n')
	}
	if !strings.HasPrefix(comment, ":") {
		t.Errorf("no comment in the stream, which ends with %q", comment)
	}
	for _, session := range []string{"a2a/dm/whole", "a2a/dm/streamed"} {
		if _, err := h.Client.Abort(t.Context(), agenthost.Stop{Agent: "ana", Session: session, By: "bo"}, 0); err != nil {
			t.Fatal(err)
		}
	}
	var r reply
	if err := json.NewDecoder(answer).Decode(&r); err != nil || !strings.Contains(string(r.Result), canceled) {
		t.Errorf("the answer: got %s, %v", r.Result, err)
	}
	if rest, err := io.ReadAll(events); err != nil || !strings.Contains(string(rest), canceled) {
		t.Errorf("the stream: got %s, %v", rest, err)
	}
}
