package llmtest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Trace checks that a dialect passes on the trace context of a request.
func Trace(t *testing.T, d Dialect) {
	const parent, state = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "rojo=00f067aa0ba902b7"
	headers := make(chan http.Header, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(server.Close)
	p := d.New(t, server.URL)
	req := Request()
	Read(p.Stream(t.Context(), req))
	if h := <-headers; len(h.Values("Traceparent"))+len(h.Values("Tracestate")) > 0 {
		t.Errorf("without a trace: got %v", h)
	}
	req.TraceParent, req.TraceState = parent, state
	Read(p.Stream(t.Context(), req))
	if h := <-headers; h.Get("traceparent") != parent || h.Get("tracestate") != state {
		t.Errorf("got %q, %q, want %q, %q", h.Get("traceparent"), h.Get("tracestate"), parent, state)
	}
}
