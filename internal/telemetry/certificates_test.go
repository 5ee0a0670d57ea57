package telemetry

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tracev1 "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// A collector whose certificate is not trusted, or that wants one, is said with the cure.
func TestCertificates(t *testing.T) {
	t.Parallel()
	collector := func(wants tls.ClientAuthType) (address, ca string) {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		srv.TLS = &tls.Config{ClientAuth: wants, MinVersion: tls.VersionTLS13}
		srv.Config.ErrorLog = log.New(io.Discard, "", 0) // it says that handshakes fail, as they should
		srv.StartTLS()
		t.Cleanup(srv.Close)
		ca = filepath.Join(t.TempDir(), "ca.pem")
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
		if err := os.WriteFile(ca, block, 0o600); err != nil {
			t.Fatal(err)
		}
		return srv.URL, ca
	}
	open, openCA := collector(tls.NoClientCert)
	closed, closedCA := collector(tls.RequireAnyClientCert)
	tests := map[string]struct {
		env  env
		want string
	}{
		"unknown":       {env{"OTEL_EXPORTER_OTLP_ENDPOINT": open}, "set OTEL_EXPORTER_OTLP_CERTIFICATE"},
		"known":         {env{"OTEL_EXPORTER_OTLP_ENDPOINT": open, "OTEL_EXPORTER_OTLP_CERTIFICATE": openCA}, ""},
		"without a key": {env{"OTEL_EXPORTER_OTLP_ENDPOINT": closed, "OTEL_EXPORTER_OTLP_CERTIFICATE": closedCA}, "set OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, err := read(tt.env.get)
			if err != nil {
				t.Fatal(err)
			}
			e := newExporter(s, newResource(s, "host", "1"))
			defer e.client.CloseIdleConnections()
			err = e.export(t.Context(), []*tracev1.Span{{Name: "run"}})
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
