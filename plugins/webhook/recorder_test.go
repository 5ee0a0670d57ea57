//go:build interop

package webhook_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// newRecorder keeps what was posted last.
func newRecorder(t *testing.T, got *http.Header, body *string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*got, *body = r.Header.Clone(), string(data)
	}))
	t.Cleanup(s.Close)
	return s
}
