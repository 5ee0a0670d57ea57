package doors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/run"
)

// recall looks for what has come of the message before: its final reply, or what its
// run waits for. The log has it, also where this host has just begun; a message that
// went no further than the door has its end among the recent ones.
func (e *Exchange) recall(ctx context.Context, known bool) error {
	if end, ok := e.desk.EndOf(e.place, e.ID); ok && known {
		e.push(end)
		return nil
	}
	list, err := e.logged(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	for _, out := range list {
		e.push(out)
	}
	return nil
}

// EndOf is the final reply to a message, if it came lately.
func (d *Desk) EndOf(p Place, id string) (out bus.Outbound, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end, ok := d.recent[p.Agent+"/"+d.Key(p)+"\x00"+id]
	return end.out, ok
}

// logged is what the log has of the message's run.
func (e *Exchange) logged(ctx context.Context) ([]bus.Outbound, error) {
	sid, err := client.SessionID(e.place.Agent, e.Session())
	if err != nil {
		return nil, err
	}
	open := map[string]bus.Outbound{} // by the random part of what they wait under
	waits := map[string]string{}      // that of each call
	for f, err := range e.desk.client.Sessions().History(ctx, e.place.Agent, sid, 1) {
		if errors.Is(err, client.ErrNoSession) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		switch f.Event.Type {
		case run.ApprovalAsked, run.QuestionAsked:
			waits[f.Event.Call] = f.Event.Wait
		case run.ApprovalAnswered, run.QuestionAnswered:
			delete(open, waits[f.Event.Call])
		case run.Finished:
			clear(open)
		}
		if f.Event.Reply == nil {
			continue
		}
		var out bus.Outbound
		if json.Unmarshal(f.Event.Reply.Envelope, &out) != nil {
			continue
		}
		if e.isEnd(&out) {
			return []bus.Outbound{out}, nil
		}
		if out.Kind == bus.KindApproval || out.Kind == bus.KindQuestion {
			open[out.Call[strings.LastIndexByte(out.Call, '.')+1:]] = out
		}
	}
	var list []bus.Outbound
	for _, out := range open {
		list = append(list, out)
	}
	return list, nil
}
