package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/doors"
	"agenthost/internal/httpauth"

	"github.com/rs/zerolog"
)

// A token that is made again under its name, for other agents, leads to those alone, also
// when agents are looked for without a request.
func TestTokenMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good := []string{"ana", "kate"}
		p := doors.Parts{
			Desk: doors.NewDesk(nil, "mcp", zerolog.Nop()),
			Auth: httpauth.New(httpauth.Options{Token: "x", Issued: func(sent string, _ time.Time) (httpauth.Token, bool, error) {
				return httpauth.Token{Name: "bo", Role: httpauth.Chat, Agents: good}, sent == "secret", nil
			}}),
			Agents: func() []doors.Agent { return []doors.Agent{{ID: "ana"}, {ID: "kate"}} },
		}
		h := Handler(p).(*handler)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		defer func() { stop(); <-done }()
		for _, want := range [][]string{{"ana", "kate"}, {"kate"}} {
			good = want
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", http.NoBody)
			r.Header.Set("Authorization", "Bearer secret")
			h.ServeHTTP(httptest.NewRecorder(), r)
			time.Sleep(2 * lookEvery)
			s := h.all(false)[0].server
			s.mu.Lock()
			var got []string
			for id := range s.tools {
				got = append(got, id)
			}
			s.mu.Unlock()
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("got the tools %q, want %q", got, want)
			}
		}
	})
}
