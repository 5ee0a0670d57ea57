package telemetry

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type env map[string]string

func (e env) get(name string) string { return e[name] }

func TestReadIsOff(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]env{
		"nothing":     {},
		"other":       {"OTEL_SERVICE_NAME": "x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
		"disabled":    {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318", "OTEL_SDK_DISABLED": "True"},
		"always off":  {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318", "OTEL_TRACES_SAMPLER": "always_off"},
		"share of 0":  {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"},
		"no exporter": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318", "OTEL_TRACES_EXPORTER": "none"},
	} {
		if _, on, err := read(e.get); on || err != nil {
			t.Errorf("%s: got %t, %v", name, on, err)
		}
	}
	if traces, err := Open(Options{Getenv: env{}.get}); traces != nil || err != nil {
		t.Errorf("open: got %v, %v", traces, err)
	}
}

func TestReadEndpoints(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]env{
		"http://localhost:4318/v1/traces": {"OTEL_TRACES_EXPORTER": "otlp"},
		"http://a:4318/v1/traces":         {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318"},
		"https://a/otlp/v1/traces":        {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://a/otlp/"},
		"http://b:1/in":                   {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://b:1/in"},
	} {
		if s, on, err := read(e.get); !on || err != nil || s.url != want {
			t.Errorf("got %s, %t, %v, want %s", s.url, on, err, want)
		}
	}
}

func TestReadValues(t *testing.T) {
	t.Parallel()
	s, _, err := read(env{
		"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x, a=1", "OTEL_EXPORTER_OTLP_TIMEOUT": "1500",
		"OTEL_RESOURCE_ATTRIBUTES": "service.name=other,team=shop", "OTEL_SERVICE_NAME": "bots", "OTEL_BSP_MAX_QUEUE_SIZE": "9", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "20",
		"OTEL_BSP_SCHEDULE_DELAY": "250", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25",
	}.get)
	if err != nil {
		t.Fatal(err)
	}
	if !s.json || !s.gzip || s.headers.Get("Authorization") != "Bearer x" || s.headers.Get("A") != "1" || s.timeout != 1500*time.Millisecond || s.service != "bots" ||
		s.attributes["team"] != "shop" || s.batch != 20 || s.queue != 20 || s.delay != 250*time.Millisecond || s.sampler != (sampler{share: 0.25}) {
		t.Errorf("got %+v", s)
	}
	s, _, err = read(env{"OTEL_TRACES_EXPORTER": "otlp"}.get)
	if err != nil || s.json || s.gzip || len(s.headers) > 0 || s.timeout != 10*time.Second || s.service != "agenthost" || s.batch != 512 || s.queue != 2048 ||
		s.delay != 5*time.Second || s.sampler != (sampler{byParent: true, share: 1}) {
		t.Errorf("defaults: got %+v, %v", s, err)
	}
}

// Those of all signals may be secrets of another collector.
func TestReadHeadersOfTraces(t *testing.T) {
	t.Parallel()
	s, _, err := read(env{
		"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x, a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=2",
	}.get)
	if err != nil || len(s.headers) != 1 || s.headers.Get("A") != "2" {
		t.Errorf("got %v, %v", s.headers, err)
	}
}

func TestReadProblems(t *testing.T) {
	t.Parallel()
	junk := filepath.Join(t.TempDir(), "junk.pem")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, e := range map[string]env{
		`OTEL_TRACES_EXPORTER is "zipkin"; want otlp or none`:                 {"OTEL_TRACES_EXPORTER": "zipkin"},
		`OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"; want http/protobuf`:           {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
		`OTEL_EXPORTER_OTLP_COMPRESSION is "zstd"; want gzip or none`:         {"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"},
		"OTEL_EXPORTER_OTLP_ENDPOINT is no address; want one such as":         {"OTEL_EXPORTER_OTLP_ENDPOINT": "me:secret@a:4318"},
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no address; want one such as":  {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "a:4317"},
		"OTEL_EXPORTER_OTLP_HEADERS is no list; want name=value":              {"OTEL_EXPORTER_OTLP_HEADERS": "secret"},
		`OTEL_EXPORTER_OTLP_TIMEOUT is "10s"; want milliseconds`:              {"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"},
		`OTEL_BSP_SCHEDULE_DELAY is "9223372036855"; want milliseconds`:       {"OTEL_BSP_SCHEDULE_DELAY": "9223372036855"},
		`OTEL_BSP_MAX_QUEUE_SIZE is "-1"; want a number from 1 to 100000`:     {"OTEL_BSP_MAX_QUEUE_SIZE": "-1"},
		`OTEL_BSP_MAX_QUEUE_SIZE is "1000000000000000"; want a number from`:   {"OTEL_BSP_MAX_QUEUE_SIZE": "1000000000000000"},
		`OTEL_BSP_MAX_EXPORT_BATCH_SIZE is "1000000000000000"; want a number`: {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1000000000000000"},
		`OTEL_TRACES_SAMPLER is "jaeger_remote"; want always_on, always_off`:  {"OTEL_TRACES_SAMPLER": "jaeger_remote"},
		`OTEL_TRACES_SAMPLER_ARG is "NaN"; want a share from 0 to 1`:          {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "NaN"},
		"OTEL_EXPORTER_OTLP_CERTIFICATE: " + junk + " holds no certificate":   {"OTEL_EXPORTER_OTLP_CERTIFICATE": junk},
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY: ":             {"OTEL_EXPORTER_OTLP_CLIENT_KEY": junk},
	} {
		if e["OTEL_TRACES_EXPORTER"] == "" {
			e["OTEL_TRACES_EXPORTER"] = "otlp"
		}
		_, _, err := read(e.get)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if p, ok := parse(good); !ok || p.String() != good || !p.sampled {
		t.Errorf("got %v, %t", p, ok)
	}
	if p, ok := parse("cc" + good[2:54] + "8-more"); !ok || p.sampled {
		t.Errorf("of later times, and not sampled: got %v, %t", p, ok)
	}
	for _, bad := range []string{
		"", strings.ToUpper(good), good[:54], good + "x", "ff" + good[2:], "0g" + good[2:], strings.Replace(good, "-", "_", 1), strings.Replace(good, "0af7651916cd43dd8448eb211c80319c", strings.Repeat("0", 32), 1),
		strings.Replace(good, "b7ad6b7169203331", strings.Repeat("0", 16), 1),
	} {
		if p, ok := parse(bad); ok {
			t.Errorf("%q: got %v", bad, p)
		}
	}
}

func TestSampler(t *testing.T) {
	t.Parallel()
	n := 0
	quarter := sampler{share: 0.25}
	for i := range 4000 {
		if quarter.begins(traceOf("x", time.Unix(int64(i), 0))) {
			n++
		}
	}
	if n < 900 || n > 1100 {
		t.Errorf("a quarter of 4000: got %d", n)
	}
	told := parent{trace: traceOf("x", time.Unix(1, 0)), sampled: true}
	off, on := sampler{}, sampler{share: 1}
	if off.takes(told) || !on.takes(parent{trace: told.trace}) || off.begins(told.trace) || !on.begins(told.trace) {
		t.Error("what is always on or off is not")
	}
	byParent := sampler{byParent: true}
	if !byParent.takes(told) || byParent.takes(parent{trace: told.trace}) || byParent.begins(told.trace) {
		t.Error("what goes by its parent does not")
	}
}

func TestWithoutLogin(t *testing.T) {
	t.Parallel()
	if got := withoutLogin("https://me:secret@a/v1/traces?key=secret"); got != "https://a/v1/traces" {
		t.Errorf("got %s", got)
	}
	_, err := http.Get("http://me:secret@127.0.0.1:1/?key=secret") //nolint:bodyclose // it fails
	if err := withoutAddress(err); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
