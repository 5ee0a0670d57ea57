package plugins

import (
	"context"
	"encoding/json"
	"sync"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// A preview is what the platform shows in place of a reply that is being written.
type preview struct {
	Chat  string `json:"chat"` // its key
	Agent string `json:"agent"`
	Run   string `json:"run"`
	ID    string `json:"id"` // the platform's
}

// previews are those that are shown. They are noted, so that the reply takes their
// place also when another host delivers it.
type previews struct {
	notes notes
	mu    sync.Mutex
	shown map[string]preview
}

func newPreviews(n notes) *previews { return &previews{notes: n, shown: map[string]preview{}} }

func previewName(chat, agent string) string { return hashed(chat + "\x00" + agent) }

// load reads what former owners have shown. What cannot be read stays as it is.
func (p *previews) load(ctx context.Context, js jetstream.JetStream) error {
	kv, err := js.KeyValue(ctx, bus.ChannelsBucket)
	if err != nil {
		return err
	}
	keys, err := kv.ListKeysFiltered(ctx, p.notes.key("preview", "*"))
	if err != nil {
		return err
	}
	defer func() { _ = keys.Stop() }() // it is at its end
	for key := range keys.Keys() {
		data, err := p.notes.read(ctx, key)
		if err != nil {
			return err
		}
		v := preview{}
		if json.Unmarshal(data, &v) == nil && v.ID != "" {
			p.add(v)
		}
	}
	return nil
}

// add keeps one that is newer than what was noted.
func (p *previews) add(v preview) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name := previewName(v.Chat, v.Agent); p.shown[name].ID == "" {
		p.shown[name] = v
	}
}

// set notes that v is shown.
func (p *previews) set(v preview) {
	name := previewName(v.Chat, v.Agent)
	p.mu.Lock()
	old := p.shown[name]
	p.shown[name] = v
	p.mu.Unlock()
	if old == v {
		return
	}
	if data, err := json.Marshal(v); err == nil {
		p.notes.writeSoon(p.notes.key("preview", name), data, p.notes.account.deliverFor()+noteRoom)
	}
}

// of is the preview of a run, or the one that its reply takes the place of.
func (p *previews) of(chat, agent, run string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.shown[previewName(chat, agent)]; v.Run == run {
		return v.ID
	}
	return ""
}

// replaced forgets the preview that a reply has taken the place of.
func (p *previews) replaced(chat, agent, id string) {
	name := previewName(chat, agent)
	p.mu.Lock()
	same := p.shown[name].ID == id
	if same {
		delete(p.shown, name)
	}
	p.mu.Unlock()
	if same {
		p.notes.deleteSoon(p.notes.key("preview", name))
	}
}
