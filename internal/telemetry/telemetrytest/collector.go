// Package telemetrytest has a collector of traces for tests. It reads what it gets with the
// messages of OpenTelemetry itself.
package telemetrytest

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	resourcev1 "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// A Collector takes OTLP over HTTP.
type Collector struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	refusals []http.HandlerFunc
	headers  []http.Header
	resource *resourcev1.Resource
	spans    []*tracev1.Span
	batches  []int
	open     int
}

// NewCollector starts one. It answers its first requests with the handlers given, if any.
func NewCollector(t testing.TB, refusals ...http.HandlerFunc) *Collector {
	t.Helper()
	c := &Collector{t: t, refusals: refusals}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	c.Config.ConnState = c.connection
	c.Start()
	t.Cleanup(c.Close)
	return c
}

func (c *Collector) connection(_ net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open++
	case http.StateClosed, http.StateHijacked:
		c.open--
	}
}

// Open is how many connections there are.
func (c *Collector) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

func (c *Collector) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	if len(c.refusals) > 0 {
		c.refusals[0](w, r)
		c.refusals = c.refusals[1:]
		return
	}
	if r.URL.Path != "/v1/traces" || r.Method != http.MethodPost {
		c.t.Errorf("got %s %s", r.Method, r.URL)
	}
	req, err := read(r)
	if err != nil {
		c.t.Errorf("read a batch: %v", err)
		return
	}
	before := len(c.spans)
	for _, of := range req.ResourceSpans {
		c.resource = of.Resource
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	c.batches = append(c.batches, len(c.spans)-before)
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
}

func read(r *http.Request) (*collectorv1.ExportTraceServiceRequest, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	req := new(collectorv1.ExportTraceServiceRequest)
	switch kind := r.Header.Get("Content-Type"); kind {
	case "application/x-protobuf":
		return req, proto.Unmarshal(data, req)
	case "application/json":
		var all any
		if err := json.Unmarshal(data, &all); err != nil {
			return nil, err
		}
		inBase64(all)
		if data, err = json.Marshal(all); err != nil {
			return nil, err
		}
		return req, protojson.Unmarshal(data, req)
	default:
		return nil, fmt.Errorf("content type %q", kind)
	}
}

// inBase64 puts ids as the library reads them; OTLP has them in hex.
func inBase64(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			inBase64(one)
		}
	case map[string]any:
		for key, one := range v {
			if key != "traceId" && key != "spanId" && key != "parentSpanId" {
				inBase64(one)
				continue
			}
			id, _ := hex.DecodeString(fmt.Sprint(one)) // a malformed id becomes an empty one
			v[key] = base64.StdEncoding.EncodeToString(id)
		}
	}
}

// Spans are those that came, by their traces.
func (c *Collector) Spans() map[string][]*tracev1.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	traces := map[string][]*tracev1.Span{}
	for _, s := range c.spans {
		id := hex.EncodeToString(s.TraceId)
		traces[id] = append(traces[id], s)
	}
	return traces
}

// Batches are how many spans each request had.
func (c *Collector) Batches() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.batches)
}

// Headers are those of the requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

// Resource is what the last batch was of.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := map[string]string{}
	for _, kv := range c.resource.GetAttributes() {
		list[kv.Key] = kv.Value.GetStringValue()
	}
	return list
}

// Tree draws the spans of a trace: each below its parent, in the order of their beginnings.
func Tree(spans []*tracev1.Span) string {
	known := map[string]bool{}
	for _, s := range spans {
		known[string(s.SpanId)] = true
	}
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b *tracev1.Span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	var text strings.Builder
	var draw func(parent, indent string)
	draw = func(parent, indent string) {
		for _, s := range spans {
			under := string(s.ParentSpanId)
			if under == parent || parent == "" && !known[under] {
				fmt.Fprintln(&text, indent+s.Name)
				draw(string(s.SpanId), indent+"  ")
			}
		}
	}
	draw("", "")
	return text.String()
}

// Attributes are those of a span, as text.
func Attributes(s *tracev1.Span) map[string]string {
	list := map[string]string{}
	for _, kv := range s.Attributes {
		text, err := protojson.Marshal(kv.Value)
		_, value, _ := strings.Cut(strings.Trim(string(text), "{}"), ":")
		if list[kv.Key] = strings.Trim(strings.TrimSpace(value), `"`); err != nil {
			list[kv.Key] = err.Error()
		}
	}
	return list
}
