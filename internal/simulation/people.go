package simulation

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/internal/simulation/memnats"
)

// say has a person say the next thing: what they had in mind, or an answer.
func (w *world) say() {
	from := &w.inputs
	if len(w.answers) > 0 && (len(w.inputs) == 0 || w.rng.IntN(2) == 0) {
		from = &w.answers
	}
	in := (*from)[0]
	*from = (*from)[1:]
	message := bus.Inbound{ID: in.Name, From: in.Person, Text: in.Text, Answers: in.Answers}
	switch {
	case in.Removes:
		message.Withdraws, message.Text = in.Changes, ""
	case in.Changes != "":
		message.Edits = in.Changes
	}
	data, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	id := in.Name
	if in.N == 0 {
		id = ""
	}
	seq := w.server.Publish(bus.InboundPrefix+in.Agent, id, data)
	w.note("%s is said as %d", in.Name, seq)
	if in.N > 0 {
		w.next[in.Session]++
		in.N = w.next[in.Session]
		w.said = append(w.said, said{in, seq, time.Now()})
	}
}

// stored hears of each message that the server stores.
func (w *world) stored(stream string, m *memnats.Message) {
	switch {
	case stream == bus.OutboundStream:
		w.asked(m)
	case strings.HasPrefix(m.Subject, scheduleKeys):
		w.scheduled(m)
	}
}

// inputName is the name of an input in what is asked because of it.
var inputName = regexp.MustCompile(`\bi\d+\b`)

// asked has a person answer, or not, what they are asked.
func (w *world) asked(m *memnats.Message) {
	out := bus.Outbound{}
	if json.Unmarshal(m.Data, &out) != nil || out.Kind != bus.KindApproval && out.Kind != bus.KindQuestion {
		return
	}
	i := slices.IndexFunc(w.plan.Inputs, func(in Input) bool { return in.Name == inputName.FindString(out.Text) })
	if i < 0 {
		panic("what was asked names no input: " + string(m.Data))
	}
	words := map[string]string{"yes": "approve", "no": "deny", "maybe": "maybe"}
	if out.Kind == bus.KindQuestion {
		words = map[string]string{"yes": "red", "no": "blue", "maybe": "maybe"}
	}
	channel := strings.TrimPrefix(m.Subject, bus.OutboundPrefix)
	answer := func(word, id string) {
		w.answered++
		w.answers = append(w.answers, Input{
			Name: fmt.Sprint("a", w.answered), Agent: channel, Person: out.To, Text: word, Answers: id, Session: channel + "/" + out.To, N: 1, Order: word != words["maybe"],
		})
	}
	switch react := w.plan.Inputs[i].React; react {
	case "nothing":
	case "late":
		w.after(w.plan.Patience+time.Duration(w.rng.IntN(2000))*time.Millisecond, "late", func() { answer(words["yes"], "") })
	default:
		for part := range strings.SplitSeq(react, " and ") {
			word, byID := strings.CutSuffix(part, " by id")
			id := ""
			if byID {
				id = out.Call
			}
			answer(words[word], id)
		}
	}
}
