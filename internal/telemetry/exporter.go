package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"agenthost/internal/httptransport"

	"github.com/cenkalti/backoff/v5"
	collectorv1 "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// An exporter sends spans by OTLP over HTTP. The exporter of OpenTelemetry's SDK contains
// gRPC, some 9 MB of it.
type exporter struct {
	settings
	resource resource
	client   *http.Client
}

type resource struct {
	of      *resourcev1.Resource
	version string
}

func newResource(s settings, host, version string) resource {
	name, _ := os.Hostname()
	all := map[string]string{
		"host.name": name, "process.runtime.name": "go", "process.runtime.version": runtime.Version(),
		"service.version": version, "service.instance.id": host,
	}
	maps.Copy(all, s.attributes)
	all["service.name"] = s.service
	list := attributes{}
	for key, value := range all {
		list.text(key, value)
	}
	return resource{&resourcev1.Resource{Attributes: list}, version}
}

func newExporter(s settings, r resource) *exporter {
	transport := httptransport.New()
	transport.TLSClientConfig = s.tls
	return &exporter{settings: s, resource: r, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // headers may be secrets
	}}
}

// export sends a batch, again where the collector may take it later.
func (e *exporter) export(ctx context.Context, spans []*tracev1.Span) error {
	body, kind, err := e.encode(&collectorv1.ExportTraceServiceRequest{ResourceSpans: []*tracev1.ResourceSpans{{
		Resource:   e.resource.of,
		ScopeSpans: []*tracev1.ScopeSpans{{Scope: &commonv1.InstrumentationScope{Name: "agenthost", Version: e.resource.version}, Spans: spans}},
	}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	var last error
	try := func() (struct{}, error) {
		if err := e.post(ctx, body, kind); last == nil || ctx.Err() == nil { // an attempt that is broken off says nothing
			last = err
		}
		return struct{}{}, last
	}
	_, err = backoff.Retry(ctx, try,
		backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: time.Second, RandomizationFactor: 0.5, Multiplier: 1.5, MaxInterval: 5 * time.Second}),
		backoff.WithMaxElapsedTime(0))
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("given up after %s: %w", e.timeout, last)
	}
	return err
}

func (e *exporter) encode(req *collectorv1.ExportTraceServiceRequest) (body []byte, kind string, err error) {
	kind = "application/x-protobuf"
	if e.json {
		kind = "application/json"
		body, err = asJSON(req)
	} else {
		body, err = proto.Marshal(req)
	}
	if err != nil || !e.gzip {
		return body, kind, err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(body)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), kind, err
}

// asJSON is a request in the JSON of OTLP, which has ids in hex.
func asJSON(req *collectorv1.ExportTraceServiceRequest) ([]byte, error) {
	data, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(req)
	if err != nil {
		return nil, err
	}
	var all any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&all); err != nil {
		return nil, err
	}
	inHex(all)
	return json.Marshal(all)
}

func inHex(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			inHex(one)
		}
	case map[string]any:
		for key, one := range v {
			text, ok := one.(string)
			if ok && (key == "traceId" || key == "spanId" || key == "parentSpanId") {
				id, _ := base64.StdEncoding.DecodeString(text) // as it was just made
				v[key] = hex.EncodeToString(id)
			} else {
				inHex(one)
			}
		}
	}
}

// mostAnswer bounds what is read of an answer.
const mostAnswer = 64 << 10

func (e *exporter) post(ctx context.Context, body []byte, kind string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(err)
	}
	maps.Copy(req.Header, e.headers)
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "OTel-OTLP-Exporter-agenthost/"+e.resource.version)
	if e.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := e.client.Do(req)
	if err != nil {
		return untrusted(fmt.Errorf("send to %s: %w", withoutLogin(e.url), withoutAddress(err)))
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		why := fmt.Errorf("%s answers %s", withoutLogin(e.url), res.Status)
		if after := retryAfter(res.Header.Get("Retry-After")); after > 0 {
			return fmt.Errorf("%w: %w", why, &backoff.RetryAfterError{Duration: after})
		}
		return why
	}
	if res.StatusCode/100 != 2 {
		return backoff.Permanent(fmt.Errorf("%s answers %s: %.200q", withoutLogin(e.url), res.Status, answer))
	}
	if n, why := refused(answer, res.Header.Get("Content-Type")); n > 0 {
		return backoff.Permanent(fmt.Errorf("%s refuses %d spans: %.200q", withoutLogin(e.url), n, why))
	}
	return nil
}

// untrusted adds the cure where one side does not trust the certificate of the other. Another try
// would change nothing.
func untrusted(err error) error {
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return backoff.Permanent(fmt.Errorf("%w; set OTEL_EXPORTER_OTLP_CERTIFICATE to a file with the certificate of its authority", err))
	}
	if strings.Contains(err.Error(), "tls: certificate required") { // the type of alerts is not exported
		return backoff.Permanent(fmt.Errorf("%w; set OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY", err))
	}
	return err
}

// longestRetryAfter is longer than any batch is kept. A duration has no room for every number
// of seconds, and one that is negative would be no wait at all.
const longestRetryAfter = 24 * time.Hour

// retryAfter reads the two forms of the header, seconds and a date; 0: it says nothing.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(longestRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(time.Until(at), 0), longestRetryAfter)
}

// refused is how many spans a collector has not taken of a batch, and why.
func refused(answer []byte, kind string) (n int64, why string) {
	var r collectorv1.ExportTraceServiceResponse
	read := proto.Unmarshal
	if strings.HasPrefix(kind, "application/json") {
		read = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal
	}
	if read(answer, &r) != nil {
		return 0, "" // it is taken, whatever else it says
	}
	return r.GetPartialSuccess().GetRejectedSpans(), r.GetPartialSuccess().GetErrorMessage()
}

// withoutLogin is an address as it may be shown.
func withoutLogin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the collector"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// withoutAddress is an error of a request without the address in it, which may hold a secret.
func withoutAddress(err error) error {
	if failed, ok := err.(*url.Error); ok { //nolint:errorlint // that of the client itself
		return failed.Err
	}
	return err
}
