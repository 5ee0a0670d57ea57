package plugins_test

import (
	"encoding/json"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
	"agenthost/session"
)

// An id is unique in its session alone: who waits for a reply gets none to a message that another
// person, another chat or another conversation has sent under the same id.
func TestAskGetsItsOwnReply(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in     string
		others []session.Key
		own    session.Key
	}{
		"of a person":       {`{"id":"m","from":"ana","text":"hi"}`, []session.Key{session.DM("test", "one", "bob"), session.Group("test", "one", "c", "")}, session.DM("test", "one", "ana")},
		"without a name":    {`{"id":"m","text":"hi"}`, []session.Key{session.DM("test", "one", "bob")}, session.DM("test", "one", "anonymous")},
		"of a group":        {`{"id":"m","from":"ana","chat":"c","group":true,"thread":"7","text":"hi"}`, []session.Key{session.Group("test", "one", "c", ""), session.Group("test", "one", "d", "7"), session.DM("test", "one", "ana")}, session.Group("test", "one", "c", "7")},
		"of a conversation": {`{"id":"m","from":"ana","conversation":"7","text":"hi"}`, []session.Key{session.DM("test", "one", "ana"), session.DMConversation("test", "one", "ana", "8")}, session.DMConversation("test", "one", "ana", "7")},
		"of a joined one":   {`{"id":"m","from":"jo","text":"hi"}`, []session.Key{session.DM("test", "one", "bob")}, session.DM("test", "other", "jo")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := connect(t, "")
			h := newHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{}).in(func(key session.Key) session.Key {
				if key == session.DM("test", "one", "jo") {
					return session.DM("test", "other", "jo")
				}
				return key
			})
			sub, err := b.NC.SubscribeSync(inbound)
			if err != nil {
				t.Fatal(err)
			}
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				if _, err := sub.NextMsgWithContext(t.Context()); err != nil {
					return
				}
				said := func(id, text string, key session.Key) bus.Outbound {
					out := reply(id, "ana", text)
					out.InReplyTo, out.Session = "m", string(key)
					return out
				}
				for i, key := range tt.others {
					send(t, b, said("r."+string(rune('a'+i)), "another's", key))
				}
				send(t, b, said("r.own", "its own", tt.own))
			}()
			out, err := h.courier.Inbox().Ask(bustest.Context(t), plugins.Received{Raw: json.RawMessage(tt.in)})
			if err != nil || out.Text != "its own" {
				t.Errorf("got %q of %s, %v", out.Text, out.Session, err)
			}
			<-answered
		})
	}
}
