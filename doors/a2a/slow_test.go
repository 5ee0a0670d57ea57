package a2a_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/doors"
	"agenthost/doors/a2a"
	"agenthost/internal/httpauth"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

// A full is a connection whose client takes nothing: what has no deadline is never written.
type full struct {
	http.ResponseWriter
	never <-chan struct{}

	mu       sync.Mutex
	deadline time.Time
}

func (f *full) SetWriteDeadline(at time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deadline = at
	return nil
}

func (f *full) Flush() {}

func (f *full) Write([]byte) (int, error) {
	f.mu.Lock()
	deadline := f.deadline
	f.mu.Unlock()
	if deadline.IsZero() {
		<-f.never
	}
	return 0, os.ErrDeadlineExceeded // it has passed by now
}

// A stream ends whose client takes nothing; the run goes on.
func TestClientThatTakesNothing(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	desk := doors.NewDesk(h.Client, bus.DoorA2A, zerolog.Nop())
	go func() { _ = desk.Run(t.Context()) }()
	door := a2a.New(doors.Parts{
		Desk: desk, Auth: httpauth.New(httpauth.Options{Listen: "127.0.0.1:0"}),
		Agents: func() []doors.Agent { return []doors.Agent{{ID: "ana"}} }, Log: zerolog.Nop(),
	})
	never, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(never); <-ended })
	go func() {
		defer close(ended)
		r := httptest.NewRequestWithContext(bustest.Context(t), http.MethodPost, "http://localhost/a2a/ana",
			strings.NewReader(c.request("SendStreamingMessage", object{"message": said("m1", "hi", "contextId", "c")})))
		door.ServeHTTP(&full{ResponseWriter: httptest.NewRecorder(), never: never}, r)
	}()
	waittest.For(t, "the stream has ended", ended)
	got := c.send(said("m1", "hi", "contextId", "c"))
	if got.Status.State != completed || got.text() != "ana: hi" {
		t.Errorf("got %+v", got)
	}
}
