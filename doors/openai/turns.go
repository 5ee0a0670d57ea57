package openai

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"agenthost/bus"
)

// The roles that a message of a request may have.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
	roleDeveloper = "developer"
	roleTool      = "tool"
	roleFunction  = "function"
)

// A turn is a message of a request, of either API.
type turn struct {
	role  string
	text  string
	files []file
	call  string // of a result: that of the call
}

// words are what a model reads of it.
func (t turn) words() string {
	if t.role == roleTool || t.role == roleFunction {
		return "[result: " + t.text + "]"
	}
	return t.text
}

// A said is what a request says to its agent.
type said struct {
	text    string
	files   []file
	history []turn
}

func (s said) empty() bool { return strings.TrimSpace(s.text) == "" && len(s.files) == 0 }

// whole takes the conversation as it is in a request: what the person said last, and
// before it the rest.
func whole(turns []turn, param string) (said, error) {
	last := -1
	for i, t := range turns {
		if fromPerson(t.role) {
			last = i
		}
	}
	if last < 0 || slices.ContainsFunc(turns[last:], func(t turn) bool { return t.role == roleAssistant }) {
		return said{}, badRequest(param, "the last message is not one of the user")
	}
	return said{text: turns[last].words(), files: turns[last].files, history: slices.Concat(turns[:last], turns[last+1:])}, nil
}

// news takes what follows the last message of the agent, for a session that has the rest.
func news(turns []turn, param string) (said, error) {
	begin := 0
	for i, t := range turns {
		if t.role == roleAssistant {
			begin = i + 1
		}
	}
	s := said{}
	var texts []string
	for _, t := range turns[begin:] {
		if t.text != "" {
			texts = append(texts, t.words())
		}
		s.files = append(s.files, t.files...)
	}
	s.text = strings.Join(texts, "\n\n")
	if begin == len(turns) {
		return said{}, badRequest(param, "no message follows the last one of the assistant")
	}
	return s, nil
}

func fromPerson(role string) bool {
	return role == roleUser || role == roleTool || role == roleFunction
}

// media stores the files of a message.
func (d *door) media(ctx context.Context, files []file) (list []bus.Media, err error) {
	for _, f := range files {
		m := bus.Media{Kind: f.kind, MIME: f.mime, Name: f.name, Size: int64(len(f.data)), URL: f.url}
		if f.url == "" {
			if m.Object, err = d.files.Put(ctx, f.data); err != nil {
				return nil, err
			}
		}
		list = append(list, m)
	}
	return list, nil
}

// before is the history of an envelope. What the operator of the client wrote is text of
// the person: the instructions of the agent are its own.
func (d *door) before(ctx context.Context, turns []turn) (list []bus.Turn, err error) {
	for _, t := range turns {
		one := bus.Turn{Role: bus.TurnUser, Text: t.words()}
		if t.role == roleAssistant {
			one.Role = bus.TurnAssistant
		}
		if one.Media, err = d.media(ctx, t.files); err != nil {
			return nil, err
		}
		if strings.TrimSpace(one.Text) != "" || len(one.Media) > 0 {
			list = append(list, one)
		}
	}
	return list, nil
}

// checkRole is for the message with the number i of a request.
func checkRole(role, param string, i int) error {
	if slices.Contains([]string{roleUser, roleAssistant, roleSystem, roleDeveloper, roleTool, roleFunction}, role) {
		return nil
	}
	param += "[" + strconv.Itoa(i) + "].role"
	return badRequest(param, param+" is "+quoted(role)+"; it can be system, developer, user, assistant or tool")
}

// callInWords is a call of a tool of the client, in a history.
func callInWords(name, args string) string {
	return "[called " + cmp.Or(name, "a tool") + " with " + cmp.Or(args, "{}") + "]"
}
