package discord

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// A host that stops does not wait for the hello of a gateway that says nothing.
func TestStopBeforeTheHello(t *testing.T) {
	t.Parallel()
	opened := make(chan struct{})
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.Close()
		close(opened)
		_, _, _ = ws.ReadMessage() // until the other side closes it
	}))
	defer gateway.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	known := &session{ID: "1", URL: "ws" + strings.TrimPrefix(gateway.URL, "http")}
	go func() { ended <- (&Channel{}).connect(ctx, nil, known) }()
	<-opened
	cancel()
	select {
	case <-ended:
	case <-time.After(helloWithin / 2):
		t.Error("it still waits")
		<-ended
	}
}

// A gateway that takes the connection of a session and says no hello is not asked again:
// Discord names another.
func TestGatewayWithoutHello(t *testing.T) {
	t.Parallel()
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil); err == nil {
			ws.Close()
		}
	}))
	defer gateway.Close()
	known := &session{ID: "1", URL: "ws" + strings.TrimPrefix(gateway.URL, "http")}
	if err := (&Channel{}).connect(t.Context(), nil, known); err == nil || known.URL != "" || known.ID != "1" {
		t.Errorf("%v; the session is still at %q", err, known.URL)
	}
}
