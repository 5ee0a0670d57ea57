package inmemory_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"agenthost/session"
	"agenthost/session/inmemory"
)

// drops records what OnExpire is told, as "key reason".
type drops struct {
	mu   sync.Mutex
	list []string
}

func (d *drops) add(key session.Key, _ int, reason inmemory.Reason) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, string(key)+" "+reason.String())
}

// take returns what was recorded since the last take.
func (d *drops) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.list
	d.list = nil
	return list
}

// start runs m until the returned stop is called or the test ends. When stop
// returns, so has Run.
func start[V any](tb testing.TB, m *inmemory.Manager[V]) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("Run: got %v, want nil", err)
		}
	})
	tb.Cleanup(stop)
	return stop
}

// keys lists the sessions of m, sorted.
func keys[V any](m *inmemory.Manager[V]) []string {
	var list []string
	for e := range m.All() {
		list = append(list, string(e.Key))
	}
	slices.Sort(list)
	return list
}

// perform does the calls of a script in order: x is GetOrCreate, ?x Get,
// +x Acquire, -x Release, !x Delete.
func perform(m *inmemory.Manager[int], script string) {
	for call := range strings.FieldsSeq(script) {
		key := session.Key(call[1:])
		switch call[0] {
		case '?':
			m.Get(key)
		case '+':
			m.Acquire(key)
		case '-':
			e, _ := m.Get(key)
			e.Release()
		case '!':
			m.Delete(key)
		default:
			m.GetOrCreate(session.Key(call))
		}
	}
}
