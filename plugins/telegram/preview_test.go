package telegram_test

import (
	"testing"

	"agenthost/plugins"
	"agenthost/plugins/telegram/telegramtest"
)

func preview(t *testing.T, ch plugins.Channel, to plugins.Place, id, text string) string {
	t.Helper()
	id, err := ch.Preview(t.Context(), to, id, text)
	if err != nil {
		t.Fatalf("preview: %v", err)
	}
	return id
}

func TestPreviewIsADraftInAPrivateChat(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	to := plugins.Place{To: "7"}
	id := preview(t, ch, to, "", "so")
	if next := preview(t, ch, to, id, "so far"); next != id {
		t.Errorf("the draft is %q, then %q", id, next)
	}
	drafts := srv.Calls("sendMessageDraft")
	if len(drafts) != 2 || drafts[0].Number("draft_id") != drafts[1].Number("draft_id") || drafts[1].Text("text") != "so far" {
		t.Fatalf("drafts: %+v", drafts)
	}
	deliver(t, ch, plugins.Message{Place: to, Text: "so far, so good", Preview: id})
	if got := only(t, srv, ana); got.Text != "so far, so good" {
		t.Errorf("it shows %+v", got)
	}
}

func TestPreviewIsEditedWhereThereAreNoDrafts(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]plugins.Place{"old API": {To: "7"}, "group": {To: "7", Chat: "-55"}} {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			srv.NoDrafts()
			chat := int64(ana)
			if to.Chat != "" {
				chat = group
			}
			id := preview(t, ch, to, "", "so")
			id = preview(t, ch, to, id, "so far")
			sent := deliver(t, ch, plugins.Message{Place: to, Text: "so far, so <b>good</b>", Preview: id, Buttons: []plugins.Button{{Label: "Yes", Data: "1"}}})
			got := only(t, srv, chat)
			if got.Text != "so far, so good" || len(got.Buttons) != 1 || sent != id {
				t.Errorf("%s shows %+v", sent, got)
			}
			preview(t, ch, to, "", "next")
			if n := len(srv.Calls("sendMessageDraft")); n > 1 {
				t.Errorf("drafts were tried %d times", n)
			}
		})
	}
}

func TestPreviewsInAGroupAreFew(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	to := plugins.Place{To: "7", Chat: "-55"}
	id := preview(t, ch, to, "", "1")
	for range 5 {
		preview(t, ch, to, id, "2")
	}
	if n := len(srv.Calls("editMessageText")); n != 0 {
		t.Errorf("%d edits at once", n)
	}
}

func TestTheReplyReplacesItsPreview(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		message plugins.Message
		refuse  telegramtest.Refusal
		want    string
	}{
		"in markup":                     {plugins.Message{Text: "<b>x</b>", Plain: "x"}, telegramtest.Refusal{}, "x"},
		"which is not understood":       {plugins.Message{Text: "<b>x", Plain: "x"}, telegramtest.Refusal{}, "x"},
		"sent a second time":            {plugins.Message{Text: "so", Plain: "so"}, telegramtest.Refusal{}, "so"},
		"which was deleted":             {plugins.Message{Text: "x"}, telegramtest.Refusal{Code: 400, Description: "Bad Request: message to edit not found"}, "x"},
		"which is too old to be edited": {plugins.Message{Text: "x"}, telegramtest.Refusal{Code: 400, Description: "Bad Request: message can't be edited"}, "x"},
		"by a file":                     {plugins.Message{File: &plugins.File{Name: "a", Data: []byte("x")}}, telegramtest.Refusal{}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			tt.message.Place = plugins.Place{To: "7", Chat: "-55"}
			tt.message.Preview = preview(t, ch, tt.message.Place, "", "so")
			if tt.refuse.Code != 0 {
				srv.Refuse("editMessageText", tt.refuse)
			}
			deliver(t, ch, tt.message)
			all := srv.Messages(group)
			if got := all[len(all)-1]; got.Text != tt.want || tt.refuse.Code == 0 && len(all) != 1 {
				t.Errorf("it shows %+v", all)
			}
		})
	}
}

func TestAPreviewHasMarkup(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]plugins.Place{"a draft": {To: "7"}, "a message": {To: "7", Chat: "-55"}} {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			id := preview(t, ch, to, "", "<b>so</b> &amp;")
			preview(t, ch, to, id, "<b>so far")
			calls := srv.Calls("")
			if got := calls[0]; got.Text("text") != "<b>so</b> &amp;" || got.Text("parse_mode") != "HTML" {
				t.Errorf("it shows %+v", got.Params)
			}
			if to.Chat != "" {
				return // the next is not due
			}
			if got := calls[len(calls)-1]; got.Text("text") != "so far" || got.Text("parse_mode") != "" {
				t.Errorf("where the markup is not understood it shows %+v", got.Params)
			}
		})
	}
}

func TestAnEmptyPreviewShowsNothing(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	preview(t, ch, plugins.Place{To: "7"}, "", " \n")
	if n := len(srv.Calls("")); n != 0 {
		t.Errorf("%d calls", n)
	}
}
