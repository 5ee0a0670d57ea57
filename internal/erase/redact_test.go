package erase

import (
	"testing"

	"agenthost/internal/erasure"
	"agenthost/session"
)

func zoe() *redactor {
	r := &redactor{
		person: erasure.Person{Place: "web", From: "zoe"}, keys: map[session.Key]bool{"route/ana/c1": true},
		ids: map[string]bool{"ana.abcdefghijklmnopqrst": true}, tasks: map[string]bool{"ana.group.c1": true},
	}
	r.quotes.addText("my sister lives in Turku")
	return r
}

// Who is erased is told from agents, other people and fields of programs.
func TestRedact(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"subject":"plugin.inbound.web","envelope":{"from":"zoe","text":"hi","chat":"c","group":true,"meta":{"x":1}}}`: `{"envelope":{"chat":"c","from":"[erased]","group":true,"name":"[erased]","text":"[erased]"},"subject":"plugin.inbound.web"}`,
		`{"subject":"plugin.inbound.irc","envelope":{"from":"zoe","text":"hi"}}`:                                        ``, // on another channel
		`{"subject":"plugin.outbound.web","to":"zoe","text":"x"}`:                                                       `{"subject":"plugin.outbound.web","text":"x","to":"[erased]"}`,
		`{"session":"web/group/1","to":"zoe"}`:                                                                          `{"session":"web/group/1","to":"[erased]"}`,
		`{"session":"web/group/1","kind":"delegate","to":"zoe"}`:                                                        ``, // an agent
		`{"type":"delegated","to":"zoe","door":"plugin.inbound.web"}`:                                                   ``,
		`{"kind":"result","from":"zoe"}`:                                                                                ``,
		`{"agent":"zoe","text":"zoe"}`:                                                                                  ``,
		`{"type":"approval.answered","by":"zoe","door":"plugin.inbound.web"}`:                                           `{"by":"[erased]","door":"plugin.inbound.web","type":"approval.answered"}`,
		`{"type":"approval.answered","by":"zoe","door":"cli"}`:                                                          ``, // an operator
		`{"approvers":["web/zoe","irc/zoe"]}`:                                                                           `{"approvers":["[erased]","irc/zoe"]}`,
		`{"session":"web/dm/zoe/c2"}`:                                                                                   `{"session":"[erased]"}`,
		`{"session":"route/ana/c1"}`:                                                                                    `{"session":"[erased]"}`,
		`{"correlation_id":"ana.abcdefghijklmnopqrst.x"}`:                                                               `{"correlation_id":"[erased]"}`,
		`{"correlation_id":"ana.group.c1"}`:                                                                             `{"correlation_id":"[erased]"}`,
		`{"result":"she said: my sister lives in Turku!","n":12345678901234567890}`:                                     `{"n":12345678901234567890,"result":"she said: [erased]!"}`,
		`{"args":{"id":"my sister lives in Turku","my sister lives in Turku":1}}`:                                       `{"args":{"[erased]":1,"id":"[erased]"}}`,
		`{"id":"my sister lives in Turku"}`:                                                                             ``,
		`my sister lives in Turku`:                                                                                      `[erased]`,
		`42 my sister lives in Turku`:                                                                                   `42 [erased]`, // it begins as JSON does
		`{"a":1}` + "\n" + `{"b":"my sister lives in Turku"}`:                                                           `{"a":1}` + "\n" + `{"b":"[erased]"}`,
		`nothing of hers`: ``,
	} {
		r := zoe()
		if got := string(r.data([]byte(data), view{words: []*words{&r.quotes}})); got != want {
			t.Errorf("%s:\n got %s\nwant %s", data, got, want)
		}
	}
}
