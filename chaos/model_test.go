//go:build unix && long

package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A model is a server of chat completions that says what it is told, after a
// delay. It outlives the hosts that call it.
type model struct {
	url     string
	delay   atomic.Int64                           // nanoseconds
	asked   atomic.Int64                           // calls so far
	calling atomic.Int64                           // calls being answered
	hear    func(ctx context.Context, text string) // called before a text is answered
}

func startModel(t testing.TB, delay time.Duration) *model {
	t.Helper()
	m := &model{hear: func(context.Context, string) {}}
	m.delay.Store(int64(delay))
	srv := httptest.NewServer(m)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	m.url = srv.URL + "/v1"
	return m
}

// ServeHTTP answers one call.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := lastText(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.asked.Add(1)
	m.calling.Add(1)
	defer m.calling.Add(-1)
	m.hear(r.Context(), text)
	select {
	case <-time.After(time.Duration(m.delay.Load())):
	case <-r.Context().Done():
		return
	}
	said, _ := json.Marshal(text) // a string always marshals
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s}}]}\n\n", said)
	fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// lastText is what the last message of a call says.
func lastText(r *http.Request) (string, error) {
	var call struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		return "", err
	}
	if len(call.Messages) == 0 {
		return "", errors.New("no messages")
	}
	content := call.Messages[len(call.Messages)-1].Content
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", err
	}
	var all strings.Builder
	for _, p := range parts {
		all.WriteString(p.Text)
	}
	return all.String(), nil
}
