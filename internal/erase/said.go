package erase

import (
	"cmp"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/internal/erasure"
	"agenthost/run"
	"agenthost/session"
)

// A message names a message of the person by what answers it has: an id counts in its session, and
// in one that accounts share, for its account.
type message struct {
	Agent   string      `json:"agent"`
	Session session.Key `json:"session"`
	Place   string      `json:"place"`
	ID      string      `json:"id"` // as it was sent
}

// A saidMessage is a message of the person in a journal.
type saidMessage struct {
	message
	Said bus.Inbound `json:"said"`
}

// addSaid notes what a message of the person says, as far as it can be found elsewhere.
func (e *eraser) addSaid(m message, env bus.Inbound) {
	if m.ID != "" {
		e.said[m] = bus.Inbound{Text: env.Text, Media: env.Media, History: env.History}
	}
}

// addSaidAtDoor does so for a message that came by a door, whose session it names itself.
func (e *eraser) addSaidAtDoor(place string, env bus.Inbound) {
	channel, instance, _ := strings.Cut(place, ".")
	if bus.IsDoor(channel) && env.Conversation != "" {
		e.addSaid(message{env.Agent, session.DM(channel, instance, env.Conversation), place, env.ID}, env)
	}
}

// saidList is what was noted, for a journal. Of the person's own sessions all goes, whatever it answers.
func (e *eraser) saidList() (list []saidMessage) {
	for m, env := range e.said {
		if !e.r.ownKey(string(m.Session)) {
			list = append(list, saidMessage{m, env})
		}
	}
	slices.SortFunc(list, func(a, b saidMessage) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// answered is what the messages of the person say that a reply answers.
func (e *eraser) answered(place string, out *bus.Outbound) *words {
	w := &words{}
	for _, id := range append(slices.Clip(out.Merged), out.InReplyTo) {
		if env, ok := e.said[message{out.Agent, session.Key(out.Session), place, id}]; ok {
			w.addMessage(env)
		}
	}
	return w
}

// addMessage adds what a message says: as a whole, by its lines, and what its files are called.
func (w *words) addMessage(env bus.Inbound) {
	media := slices.Clip(env.Media)
	for _, text := range textsOf(env) {
		w.add(text)
		w.addText(text)
		for line := range strings.Lines(text) { // several messages are merged by lines
			w.add(line)
		}
	}
	for _, turn := range env.History {
		media = append(media, turn.Media...)
	}
	for _, m := range media {
		w.addLong(m.URL)
		w.add(m.Name)
	}
}

// textsOf are the texts of a message that are its sender's: what it says, and what the client of a
// door says they have said before.
func textsOf(env bus.Inbound) []string {
	texts := []string{env.Text}
	for _, turn := range env.History {
		if turn.Role == bus.TurnUser {
			texts = append(texts, turn.Text)
		}
	}
	return texts
}

// lookAtMessage notes a message of the person that the log of f has.
func (e *eraser) lookAtMessage(f *found, of string, in *run.Input, env bus.Inbound) {
	f.mine++
	f.texts = append(f.texts, env.Text) // not its history: a program may send the same for all people
	place := erasure.PlaceOf(in.Subject)
	e.addChat(place, env)
	e.addSaid(message{f.agent, f.key, place, in.OwnID()}, env)
	e.place(cmp.Or(place, erasure.Routes))
	e.name(env.Name)
	if len(env.History) > 0 {
		f.before[of] = env
	}
}

// addChat notes the chat of a message of the person where no others are in it.
func (e *eraser) addChat(place string, env bus.Inbound) {
	if place != "" && env.Chat != "" && !env.Group {
		e.r.chats[place+"/"+env.Chat] = true
	}
}

// earlier is what the person has said before the runs of a session, by the run: it stands in the
// log ahead of the message that brought it.
func (f *found) earlier() map[string]*theirsIn {
	runs := map[string]*theirsIn{}
	for id, env := range f.before {
		runs[id] = &theirsIn{}
		runs[id].add(env)
	}
	return runs
}
