package httpapi_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"agenthost/llm"
	"agenthost/llm/httpapi"
	"agenthost/llm/llmtest"
)

// A server that takes the connection and nothing else is left after Connect.
func TestConnectTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	never := errors.New("it answered")
	api := httpapi.API{
		Client: httpapi.Client(llm.Timeouts{Connect: 50 * time.Millisecond}, nil),
		Encode: func(*llm.Request, *httpapi.ToolNames) (string, []byte, error) {
			return fmt.Sprintf("https://%s/v1", l.Addr()), []byte("{}"), nil
		},
		Decode: func(*httpapi.Answer) httpapi.Decoder { t.Error(never); return nil },
		Fail:   func(int, http.Header, []byte) error { return never },
	}
	a := llmtest.Read(api.Stream(t.Context(), llm.Request{}))
	if e := llm.AsError(a.Err); e == nil || !e.TimedOut || e.Code != llm.CodeProviderUnavailable || !e.Transient {
		t.Errorf("got %v, want a call that timed out", a.Err)
	}
}
