package httpapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"agenthost/bus"
)

// A client that does not read is cut off, and delays no other.
func TestSlowClientIsCut(t *testing.T) {
	f := &Feed{listeners: map[*listener]bool{}, begun: make(chan struct{}), ready: make(chan struct{})}
	close(f.ready)
	slow, _, err := f.join(t.Context(), "slow")
	if err != nil {
		t.Fatal(err)
	}
	quick, _, err := f.join(t.Context(), "quick")
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
}

// One token cannot take the room of all.
func TestRoomForClients(t *testing.T) {
	f := &Feed{listeners: map[*listener]bool{}, begun: make(chan struct{}), ready: make(chan struct{})}
	close(f.ready)
	join := func(of string) (*listener, error) {
		l, _, err := f.join(t.Context(), of)
		return l, err
	}
	var last *listener
	for range mostOfOne {
		l, err := join("greedy")
		if err != nil {
			t.Fatal(err)
		}
		last = l
	}
	if _, err := join("greedy"); !errors.Is(err, errFullOfOne) {
		t.Errorf("one too many of a token: got %v", err)
	}
	f.leave(last)
	if _, err := join("greedy"); err != nil {
		t.Errorf("after one has left: got %v", err)
	}
	for n := len(f.listeners); n < mostListeners; n++ {
		if _, err := join(strconv.Itoa(n % 2)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := join("operator"); !errors.Is(err, errFull) {
		t.Errorf("one too many of all: got %v", err)
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

// A stream that is made again counts from 1 again: clients come again, and are not kept at a
// place of the stream before.
func TestPlacesOfAStreamThatIsMadeAgain(t *testing.T) {
	f := &Feed{listeners: map[*listener]bool{}, begun: make(chan struct{}), ready: make(chan struct{})}
	close(f.ready)
	before, _, err := f.join(t.Context(), "grafana")
	if err != nil {
		t.Fatal(err)
	}
	f.tell(news{at: place{sessions: 40}})
	f.tell(news{at: place{events: 70}})
	f.startOver(bus.EventsStream)
	select {
	case <-before.lost:
	default:
		t.Error("the client is still there")
	}
	again, at, err := f.join(t.Context(), "grafana")
	if err != nil || at != (place{sessions: 40}) || f.listeners[before] || !f.listeners[again] {
		t.Errorf("got %+v, %v", at, err)
	}
	f.tell(news{at: place{events: 3}})
	f.startOver(bus.SessionsStream)
	if _, at, err := f.join(t.Context(), "grafana"); err != nil || at != (place{events: 3}) {
		t.Errorf("got %+v, %v", at, err)
	}
}
