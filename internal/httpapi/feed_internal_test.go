package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A client that does not read is cut off, and delays no other.
func TestSlowClientIsCut(t *testing.T) {
	f := &Feed{listeners: map[*listener]bool{}, begun: make(chan struct{}), ready: make(chan struct{})}
	close(f.ready)
	slow, _, err := f.join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quick, _, err := f.join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(mostNews + 1) {
		f.tell(news{at: place{sessions: i + 1}})
		<-quick.news
	}
	select {
	case <-slow.lost:
	default:
		t.Error("the slow client is still there")
	}
	if f.listeners[slow] || !f.listeners[quick] {
		t.Errorf("got %v", f.listeners)
	}
	for range mostListeners {
		_, _, _ = f.join(t.Context())
	}
	if l, _, err := f.join(t.Context()); l != nil || err != nil {
		t.Errorf("one too many: got %v, %v", l, err)
	}
}

// The id of an event is the place of its message only once all events of that are
// written: a client that is cut between them gets them again.
func TestPlacesOfEvents(t *testing.T) {
	rec := httptest.NewRecorder()
	e := &eventWriter{to: rec, flush: http.NewResponseController(rec), at: place{3, 7}}
	n := news{at: place{sessions: 4}, agent: "ana", items: []item{{"session", 1}, {"run", 2}}}
	e.news(filter{}, n)
	e.news(filter{agent: "kate"}, news{at: place{events: 9}, agent: "ana", items: []item{{"agent", 3}}})
	e.event("hello", 4)
	want := "id: 3-7\nevent: session\ndata: 1\n\nid: 4-7\nevent: run\ndata: 2\n\nid: 4-9\nevent: hello\ndata: 4\n\n"
	if got := rec.Body.String(); got != want || e.err != nil {
		t.Errorf("got %q, %v, want %q", got, e.err, want)
	}
	if !e.at.has(place{sessions: 4}) || e.at.has(place{sessions: 5}) || e.at.has(place{}) {
		t.Errorf("at %+v", e.at)
	}
}
