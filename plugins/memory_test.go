package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/internal/markdown"
	"agenthost/plugins/plugintest"
)

func TestMain(m *testing.M) {
	bustest.ManyAtOnce()
	bustest.VerifyNoLeaks(m)
}

// A memory is a platform in memory: it keeps what was written until the account has
// taken it, and what the account has sent.
type memory struct {
	limits plugins.Limits
	me     string

	mu       sync.Mutex
	written  chan plugins.Received
	last     plugins.Received
	count    int
	sent     map[string][]plugins.Message
	keys     map[string]bool
	previews map[string]string // by id
	shown    []string          // previews, in order
	typing   map[string]int
	faults   []error // of the next messages
	drops    chan struct{}
	logins   int
	open     int // connections
	mostOpen int
}

func newMemory(limits plugins.Limits) *memory {
	return &memory{
		limits: limits, me: "bot", written: make(chan plugins.Received, 1000), sent: map[string][]plugins.Message{}, keys: map[string]bool{},
		previews: map[string]string{}, typing: map[string]int{}, drops: make(chan struct{}, 1),
	}
}

// chatLimits are those of most platforms.
func chatLimits() plugins.Limits {
	return plugins.Limits{
		Text: 400, Render: markdown.Plain.Render, File: 1 << 20, Buttons: 4,
		Typing: 4 * time.Second, Preview: time.Second, Idempotent: true,
	}
}

func (p *memory) Limits() plugins.Limits { return p.limits }

func (p *memory) Run(ctx context.Context, in *plugins.Inbox) error {
	p.mu.Lock()
	p.logins++
	p.open++
	p.mostOpen = max(p.mostOpen, p.open)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.open--
		p.mu.Unlock()
	}()
	in.Connected(p.me)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.drops:
			return errors.New("connection reset")
		case m := <-p.written:
			if err := in.Take(ctx, m); err != nil {
				p.written <- m
				return err
			}
		}
	}
}

func (p *memory) Deliver(_ context.Context, m plugins.Message) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.faults) > 0 {
		err := p.faults[0]
		p.faults = p.faults[1:]
		return "", err
	}
	if p.limits.Idempotent && p.keys[m.Key] {
		return m.Key, nil
	}
	p.keys[m.Key] = true
	to := m.Chat
	if to == "" {
		to = m.To
	}
	p.sent[to] = append(p.sent[to], m)
	delete(p.previews, m.Preview)
	return m.Key, nil
}

func (p *memory) Typing(_ context.Context, to plugins.Place) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.typing[to.To]++
	return nil
}

func (p *memory) Preview(_ context.Context, _ plugins.Place, id, text string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == "" {
		id = fmt.Sprintf("preview-%d", len(p.shown)+1)
	}
	p.previews[id] = text
	p.shown = append(p.shown, text)
	return id, nil
}

func (p *memory) fault(errs ...error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, errs...)
}

func (p *memory) write(m plugins.Received) {
	p.mu.Lock()
	if m.ID == "" {
		p.count++
		m.ID = fmt.Sprintf("m%d", p.count)
	}
	p.last = m
	p.mu.Unlock()
	p.written <- m
}

// messages are what the account has sent to a chat or a person.
func (p *memory) messages(to string) []plugins.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent[to])
}

func (p *memory) texts(to string) (texts []string) {
	for _, m := range p.messages(to) {
		texts = append(texts, m.Text)
	}
	return texts
}

// platform is the memory as the suite needs it.
func (p *memory) platform() plugintest.Platform {
	chat := map[plugintest.Chat]string{plugintest.Direct: "ana", plugintest.Group: "g1"}
	return plugintest.Platform{
		Channel: func() plugins.Channel { return p },
		Write: func(w plugintest.Written) {
			m := plugins.Received{From: "ana", Name: "Ana", Text: w.Text, Mentioned: w.Mention}
			if w.Other {
				m.From, m.Name = "bob", "Bob"
			}
			if w.Chat == plugintest.Group {
				m.Chat, m.Group = "g1", true
			}
			if w.File != nil {
				m.Files = []plugins.File{*w.File}
			}
			p.write(m)
		},
		Sent: func(c plugintest.Chat) (sent []plugintest.Sent) {
			for _, m := range p.messages(chat[c]) {
				s := plugintest.Sent{Text: m.Text}
				if m.File != nil {
					s.Name, s.File = m.File.Name, m.File.Data
				}
				for _, b := range m.Buttons {
					s.Buttons = append(s.Buttons, b.Label)
				}
				sent = append(sent, s)
			}
			return sent
		},
		Keeps:  true,
		Typing: func(plugintest.Chat) bool { return p.typed("ana") > 0 },
		Preview: func(plugintest.Chat) string {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, text := range p.previews {
				return text
			}
			return ""
		},
		Repeat: func() { p.write(p.last) },
		Press: func(c plugintest.Chat, label string) {
			for _, m := range p.messages(chat[c]) {
				for _, b := range m.Buttons {
					if b.Label == label {
						p.write(plugins.Received{From: "ana", Pressed: b.Data})
					}
				}
			}
		},
		RateLimit:  func(wait time.Duration) { p.fault(&plugins.RateLimitError{After: wait, Err: errors.New("slow down")}) },
		Refuse:     func() { p.fault(plugins.Permanent(errors.New("chat not found"))) },
		Fail:       func() { p.fault(errors.New("bad gateway")) },
		Disconnect: func() { p.drops <- struct{}{} },
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	limits := map[string]plugins.Limits{
		"a chat with everything":        chatLimits(),
		"lines without files":           {Text: 80, Line: true, Measure: func(s string) int { return len(s) }},
		"no keys, no buttons, no limit": {File: 1 << 20},
	}
	for name, l := range limits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugintest.Run(t, plugintest.Suite{New: func(testing.TB) plugintest.Platform { return newMemory(l).platform() }})
		})
	}
}

func (p *memory) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}
