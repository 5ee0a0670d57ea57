//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/tools/service"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// A billing is a micro service that counts what it does. It outlives the hosts
// that call it.
type billing struct {
	takes   time.Duration // what lies between an effect and its answer
	calling atomic.Int64  // calls being answered

	mu      sync.Mutex
	effects map[string]int             // by call id
	ids     map[string]map[string]bool // the call ids of a purpose
}

// startBilling offers the endpoints pay, which must not run twice, and look,
// which may.
func startBilling(t testing.TB, nc *nats.Conn, takes time.Duration) *billing {
	t.Helper()
	b := &billing{takes: takes, effects: map[string]int{}, ids: map[string]map[string]bool{}}
	svc, err := micro.AddService(nc, micro.Config{Name: "bill", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	var answers sync.WaitGroup
	t.Cleanup(func() {
		svc.Stop()
		answers.Wait()
	})
	for name, about := range map[string]map[string]string{"pay": nil, "look": {"rerun": "safe", "readonly": "true"}} {
		err := svc.AddEndpoint(name, micro.HandlerFunc(func(req micro.Request) {
			b.note(name, req)
			b.calling.Add(1)
			answers.Go(func() {
				defer b.calling.Add(-1)
				<-time.After(b.takes)
				_ = req.Respond([]byte("done")) // who asked may be gone
			})
		}), micro.WithEndpointSubject("bill."+name), micro.WithEndpointMetadata(about))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return b
}

// note counts an effect. Its purpose is the tool and what it was called with.
func (b *billing) note(tool string, req micro.Request) {
	id, purpose := req.Headers().Get(service.CallIDHeader), "bill."+tool+" "+compact(req.Data())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.effects[id]++
	if b.ids[purpose] == nil {
		b.ids[purpose] = map[string]bool{}
	}
	b.ids[purpose][id] = true
}

// counted are the effects so far, by call id.
func (b *billing) counted() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.effects)
}

// strayed are the purposes that were called under more than one id.
func (b *billing) strayed() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for purpose, ids := range b.ids {
		if len(ids) > 1 {
			list = append(list, purpose)
		}
	}
	return list
}

// compact is JSON in the one form that equal values share.
func compact(data []byte) string {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return string(data)
	}
	text, _ := json.Marshal(v) // it came from JSON
	return string(text)
}
