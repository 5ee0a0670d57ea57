package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// A model is a server that speaks as OpenAI's does and needs no time, or as
// much as it is told: first the tool calls of a run, then six pieces of text.
type model struct {
	tools int
	delay time.Duration
	srv   *http.Server
	url   string
	done  chan struct{}
}

const pieces = 6

func startModel(ctx context.Context, tools int, delay time.Duration) (*model, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the model: %w", err)
	}
	m := &model{tools: tools, delay: delay, url: "http://" + l.Addr().String() + "/v1", done: make(chan struct{})}
	m.srv = &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(m.done)
		if err := m.srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return // the rounds fail, and say so
		}
	}()
	return m, nil
}

func (m *model) stop() {
	_ = m.srv.Close()
	<-m.done
}

// ServeHTTP answers one request.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct {
			Role string `json:"role"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if m.delay > 0 {
		timer := time.NewTimer(m.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	results := 0
	for _, msg := range asked.Messages {
		switch msg.Role {
		case "tool":
			results++
		case "user":
			results = 0
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if results < m.tools {
		say(w, fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%d_%d","type":"function","function":{"name":"now","arguments":"{}"}}]}`,
			len(asked.Messages), time.Now().UnixNano()), `"tool_calls"`)
		return
	}
	for i := range pieces - 1 {
		say(w, fmt.Sprintf(`{"content":"piece %d of it, "}`, i), "null")
	}
	say(w, `{"content":"done."}`, `"stop"`)
}

// say sends a piece, and the end behind the last one.
func say(w http.ResponseWriter, delta, finish string) {
	fmt.Fprintf(w, `data: {"id":"bench","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
	if finish != "null" {
		fmt.Fprint(w, `data: {"id":"bench","object":"chat.completion.chunk","created":1,"model":"bench","choices":[],`+
			`"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`+"\n\ndata: [DONE]\n\n")
	}
	_ = http.NewResponseController(w).Flush() // who asked may be gone
}
