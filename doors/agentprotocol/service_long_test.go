//go:build long

package agentprotocol_test

import (
	"strings"
	"testing"
	"time"
)

func TestQueryWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	serve(t, h, time.Millisecond)
	frames := c.prompt("agents.prompt.agenthost.test.ana", "write").all()
	if f := frames[len(frames)-2]; f.code != "500" || !strings.Contains(f.why, "no answer to the query") {
		t.Errorf("got %+v", f)
	}
}
