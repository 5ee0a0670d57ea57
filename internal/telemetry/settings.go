package telemetry

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// settings are what the variables of OpenTelemetry say of traces.
type settings struct {
	url        string
	json       bool
	gzip       bool
	headers    http.Header
	timeout    time.Duration // of a batch, with what is tried again
	tls        *tls.Config
	sampler    sampler
	service    string
	attributes map[string]string // of the resource
	delay      time.Duration     // a batch waits no longer
	batch      int               // spans
	queue      int               // spans that wait; more are dropped
}

// read reads the variables; on is false where traces are not asked for: no endpoint is named,
// nor the exporter, or none is sampled.
func read(getenv func(string) string) (s settings, on bool, err error) {
	exporter := getenv("OTEL_TRACES_EXPORTER")
	base, whole := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || exporter == "none" || exporter == "" && base == "" && whole == "" {
		return s, false, nil
	}
	v := variables{getenv: getenv}
	if exporter != "" && exporter != "otlp" {
		v.wrong("OTEL_TRACES_EXPORTER", exporter, "otlp or none")
	}
	s.url = v.endpoint(base, whole)
	switch protocol := v.otlp("PROTOCOL", "http/protobuf"); protocol {
	case "http/protobuf":
	case "http/json":
		s.json = true
	default:
		v.wrong("OTEL_EXPORTER_OTLP_PROTOCOL", protocol, "http/protobuf or http/json, which collectors take at port 4318")
	}
	switch compression := v.otlp("COMPRESSION", "none"); compression {
	case "none":
	case "gzip":
		s.gzip = true
	default:
		v.wrong("OTEL_EXPORTER_OTLP_COMPRESSION", compression, "gzip or none")
	}
	s.headers = http.Header{}
	for name, value := range v.list("OTEL_EXPORTER_OTLP_HEADERS", v.otlp("HEADERS", "")) {
		s.headers.Set(name, value)
	}
	s.timeout = v.milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT", v.otlp("TIMEOUT", "10000"))
	s.tls = v.certificates()
	s.sampler = v.sampler()
	s.attributes = v.list("OTEL_RESOURCE_ATTRIBUTES", getenv("OTEL_RESOURCE_ATTRIBUTES"))
	s.service = cmp.Or(getenv("OTEL_SERVICE_NAME"), s.attributes["service.name"], "agenthost")
	s.delay = v.milliseconds("OTEL_BSP_SCHEDULE_DELAY", cmp.Or(getenv("OTEL_BSP_SCHEDULE_DELAY"), "5000"))
	s.batch = v.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)
	s.queue = max(v.number("OTEL_BSP_MAX_QUEUE_SIZE", 2048), s.batch)
	return s, s.sampler != (sampler{}), errors.Join(v.faults...)
}

// variables reads the environment and keeps what is wrong with it. Values stay out of errors
// where they may be secrets.
type variables struct {
	getenv func(string) string
	faults []error
}

func (v *variables) wrong(name, value, want string) {
	v.faults = append(v.faults, fmt.Errorf("%s is %q; want %s", name, value, want))
}

// otlp is a variable of the exporter: that of traces goes before that of all signals.
func (v *variables) otlp(name, otherwise string) string {
	return cmp.Or(v.getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), v.getenv("OTEL_EXPORTER_OTLP_"+name), otherwise)
}

// endpoint is where spans go: the endpoint of traces is taken literally, that of all signals
// is a base.
func (v *variables) endpoint(base, whole string) string {
	name, address := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", whole
	if whole == "" {
		name, address = "OTEL_EXPORTER_OTLP_ENDPOINT", strings.TrimRight(cmp.Or(base, "http://localhost:4318"), "/")+"/v1/traces"
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		v.faults = append(v.faults, fmt.Errorf("%s is no address; want one such as http://localhost:4318", name))
	}
	return address
}

// list reads name=value,name=value with %XX in the values.
func (v *variables) list(variable, text string) map[string]string {
	list := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			v.faults = append(v.faults, fmt.Errorf("%s is no list; want name=value,name=value, with %%XX for other signs", variable))
			continue
		}
		list[name] = value
	}
	return list
}

// The largest values of variables. What waits has its place in memory from the start.
const (
	mostMilliseconds = 24 * 60 * 60 * 1000
	mostInQueue      = 100_000
)

func (v *variables) milliseconds(name, text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > mostMilliseconds {
		v.wrong(name, text, "milliseconds, such as 5000, and no more than a day")
	}
	return time.Duration(n) * time.Millisecond
}

func (v *variables) number(name string, otherwise int) int {
	text := v.getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > mostInQueue {
		v.wrong(name, text, fmt.Sprintf("a number from 1 to %d", mostInQueue))
	}
	return n
}

// certificates are those that the collector's is checked with, and ours for it.
func (v *variables) certificates() *tls.Config {
	ca, cert, key := v.otlp("CERTIFICATE", ""), v.otlp("CLIENT_CERTIFICATE", ""), v.otlp("CLIENT_KEY", "")
	if ca == "" && cert == "" && key == "" {
		return nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		data, err := os.ReadFile(ca)
		if c.RootCAs = x509.NewCertPool(); err == nil && !c.RootCAs.AppendCertsFromPEM(data) {
			err = fmt.Errorf("%s holds no certificate", ca)
		}
		if err != nil {
			v.faults = append(v.faults, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err))
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			v.faults = append(v.faults, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY: %w", err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

func (v *variables) sampler() sampler {
	const name = "OTEL_TRACES_SAMPLER"
	s := sampler{share: 1}
	kind, byParent := strings.CutPrefix(cmp.Or(v.getenv(name), "parentbased_always_on"), "parentbased_")
	s.byParent = byParent
	switch kind {
	case "always_on":
	case "always_off":
		s.share = 0
	case "traceidratio":
		arg := cmp.Or(v.getenv(name+"_ARG"), "1")
		share, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(share >= 0 && share <= 1) {
			v.wrong(name+"_ARG", arg, "a share from 0 to 1")
		}
		s.share = share
	default:
		v.wrong(name, v.getenv(name), "always_on, always_off or traceidratio, or these with parentbased_ before")
	}
	return s
}
