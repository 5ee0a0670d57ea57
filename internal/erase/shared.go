package erase

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/internal/erasure"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools/memory"
)

// In a session that accounts or the clients of a door share, others write as well, and what the
// agent says is for one of them.

// remembers is the name of the tool that makes notes.
const remembers = "remember"

// findNotesOfShared notes which notes came of runs that the person alone has begun: a note itself
// says only in which session it was made.
func (e *eraser) findNotesOfShared(all map[string]*found) {
	for name, f := range all {
		if e.r.ids[name] || f.mine == 0 || f.key.IsGroup() {
			continue
		}
		for _, c := range f.remembered {
			if f.mineRuns[c.run] {
				e.notes[f.agent+"."+memory.NoteID(f.agent, c.run+"."+c.id)] = true
			}
		}
	}
}

// A call is one of a tool in a run.
type call struct{ run, id string }

// lookAtCall notes a call that has made a note. Once others have written in its run the note may be
// about them.
func (f *found) lookAtCall(of string, event *run.Event) {
	if event.Type == run.ToolRequested && event.Name == remembers && !f.joined[of] {
		f.remembered = append(f.remembered, call{of, event.Call})
	}
}

// ofTheirRun reports whether a note came of a run that the person alone has begun.
func (e *eraser) ofTheirRun(key string) bool {
	agent, _, _ := strings.Cut(key, ".")
	return e.notes[agent+"."+key[strings.LastIndexByte(key, '.')+1:]]
}

// lookAtOther notes who else has written in a session of the person, which goes as a whole.
func (e *eraser) lookAtOther(f *found, place string, env bus.Inbound) {
	if e.r.person.Owns(f.key) {
		f.texts = append(f.texts, env.Text)
		e.others[place+"/"+cmp.Or(env.From, erasure.Anonymous)] = f.key
	}
}

// nameShared names what stays of sessions in which others write as well: of those of the person,
// what the others have by themselves; of those of others that are no groups, what the agent has said
// there, and notes that do not say for whom they were made.
func (e *eraser) nameShared(ctx context.Context) error {
	for account, key := range e.others {
		e.kept[fmt.Sprintf("what is kept of %s, who has written in %s as well: erase them, too", account, key)] = true
	}
	left := map[session.Key]int{}
	for key := range e.takes {
		if !key.IsGroup() {
			left[key] = 0
		}
	}
	if len(left) == 0 {
		return nil
	}
	err := e.entries(ctx, bus.MemoryBucket, ">", func(key string, value []byte) error {
		n := memory.Note{}
		_ = json.Unmarshal(value, &n) // what cannot be read was made in no session
		if _, ok := left[session.Key(n.Session)]; ok && e.ofAgent(key) && !e.theirNote(key, value) {
			left[session.Key(n.Session)]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, notes := range left {
		kept := fmt.Sprintf("what agents have said in %s, where others write as well", key)
		switch look := "agenthost memory ls --peer " + string(key); {
		case notes == 1:
			kept += ", and a note of that chat: look at " + look
		case notes > 1:
			kept += fmt.Sprintf(", and %d notes of that chat: look at %s", notes, look)
		}
		e.kept[kept] = true
	}
	return nil
}
