package run

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"agenthost/fastjson"
	"agenthost/llm"
)

// AppendJSON appends the events as a log has them: what encoding/json reads from
// it is what it would from its own. A host does this for every message, and
// encoding/json takes a tenth of all its time for it.
func AppendJSON(b []byte, events []Event) ([]byte, error) {
	w := encoder{b: append(b, '[')}
	for i := range events {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.event(&events[i])
	}
	return append(w.b, ']'), w.err
}

// AppendJSON appends s as MarshalJSON writes it, in the manner of the function of
// that name: snapshots of long conversations cost as much as all their commits.
func (s State) AppendJSON(b []byte) ([]byte, error) {
	w := encoder{b: append(b, `{"phase":`...)}
	w.quote(string(s.Phase.told()))
	if len(s.Messages) > 0 {
		w.b = append(w.b, `,"messages":[`...)
		for i := range s.Messages {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.message(&s.Messages[i])
		}
		w.b = append(w.b, ']')
	}
	if s.Run != nil {
		w.any(`,"run":`, s.Run)
	}
	w.inputs(`,"waiting":`, s.Waiting)
	if !reflect.ValueOf(s.Gauge).IsZero() {
		w.any(`,"gauge":`, s.Gauge)
	}
	w.number(`,"spent":`, s.Spent)
	if s.Operator != nil {
		w.any(`,"operator":`, s.Operator)
	}
	w.texts(`,"written":`, s.Written)
	return append(w.b, '}'), w.err
}

// An encoder writes objects whose first field is always there.
type encoder struct {
	b   []byte
	err error // the first
}

func (w *encoder) event(e *Event) {
	w.b = append(w.b, `{"type":`...)
	w.quote(string(e.Type))
	w.b = append(w.b, `,"at":`...)
	w.moment(e.At)
	w.text(`,"run":`, e.Run)
	w.text(`,"trigger":`, string(e.Trigger))
	w.inputs(`,"inputs":`, e.Inputs)
	w.number(`,"attempt":`, int64(e.Attempt))
	w.number(`,"handed":`, int64(e.Handed))
	w.number(`,"lost":`, e.Lost)
	if e.Input != nil {
		w.b = append(w.b, `,"input":`...)
		w.input(e.Input)
	}
	if e.Since != 0 {
		w.b = strconv.AppendUint(append(w.b, `,"since":`...), e.Since, 10)
	}
	if e.Message != nil {
		w.b = append(w.b, `,"message":`...)
		w.message(e.Message)
	}
	if e.Address != nil {
		w.any(`,"address":`, e.Address)
	}
	w.call(e)
	w.tool(e)
	if e.Reply != nil {
		w.b = append(w.b, `,"reply":`...)
		w.reply(e.Reply)
	}
	w.number(`,"through":`, int64(e.Through))
	w.text(`,"summary":`, e.Summary)
	w.number(`,"before":`, int64(e.Before))
	w.number(`,"after":`, int64(e.After))
	w.texts(`,"waiting":`, e.Waiting)
	w.text(`,"outcome":`, string(e.Outcome))
	if e.Error != nil {
		w.any(`,"error":`, e.Error)
	}
	w.hooks(e.Hooks)
	w.b = append(w.b, '}')
}

func (w *encoder) hooks(acts []HookAct) {
	if len(acts) > 0 {
		w.any(`,"hooks":`, acts)
	}
}

// call writes what is known of a call of the model.
func (w *encoder) call(e *Event) {
	w.text(`,"provider":`, e.Provider)
	w.text(`,"model":`, e.Model)
	w.text(`,"entry":`, e.Entry)
	w.number(`,"status":`, int64(e.Status))
	w.text(`,"reason":`, e.Reason)
	w.text(`,"skipped":`, e.Skipped)
	if e.Usage != nil {
		w.any(`,"usage":`, e.Usage)
	}
	w.number(`,"cost":`, e.Cost)
	w.truth(`,"priced":`, e.Priced)
	w.number(`,"ms":`, e.MS)
	w.number(`,"guess":`, int64(e.Guess))
}

// tool writes what is known of a tool, of a question, of another agent.
func (w *encoder) tool(e *Event) {
	w.text(`,"call":`, e.Call)
	w.text(`,"for":`, e.For)
	w.text(`,"name":`, e.Name)
	w.raw(`,"args":`, e.Args)
	w.text(`,"rerun":`, e.Rerun)
	w.truth(`,"ok":`, e.OK)
	w.text(`,"result":`, e.Result)
	w.text(`,"source":`, e.Source)
	w.text(`,"prompt":`, e.Prompt)
	w.texts(`,"options":`, e.Options)
	w.text(`,"default":`, e.Default)
	w.text(`,"answer":`, e.Answer)
	w.text(`,"by":`, e.By)
	w.text(`,"scope":`, e.Scope)
	w.text(`,"door":`, e.Door)
	if !e.Deadline.IsZero() {
		w.b = append(w.b, `,"deadline":`...)
		w.moment(e.Deadline)
	}
	w.number(`,"number":`, int64(e.Number))
	if e.Newest != 0 {
		w.b = strconv.AppendUint(append(w.b, `,"newest":`...), e.Newest, 10)
	}
	w.text(`,"wait":`, e.Wait)
	w.text(`,"to":`, e.To)
	w.text(`,"correlation_id":`, e.CorrelationID)
	w.raw(`,"context":`, e.Context)
}

func (w *encoder) input(in *Input) {
	w.b = append(w.b, `{"id":`...)
	w.quote(in.ID)
	w.b = append(w.b, `,"subject":`...)
	w.quote(in.Subject)
	w.b = append(w.b, `,"seq":`...)
	w.b = strconv.AppendUint(w.b, in.Seq, 10)
	if in.Envelope == nil {
		w.b = append(w.b, `,"envelope":null`...)
	} else {
		w.json(`,"envelope":`, in.Envelope)
	}
	w.text(`,"trace":`, in.Trace)
	w.text(`,"state":`, in.State)
	w.text(`,"sent":`, in.Sent)
	w.truth(`,"checked":`, in.Checked)
	w.hooks(in.Hooks)
	w.b = append(w.b, '}')
}

func (w *encoder) message(m *llm.Message) {
	w.b = append(w.b, `{"role":`...)
	w.quote(string(m.Role))
	w.text(`,"name":`, m.Name)
	w.b = append(w.b, `,"parts":`...)
	if m.Parts == nil {
		w.b = append(w.b, `null`...)
	} else {
		w.b = append(w.b, '[')
		for i := range m.Parts {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.part(&m.Parts[i])
		}
		w.b = append(w.b, ']')
	}
	w.truth(`,"partial":`, m.Partial)
	w.b = append(w.b, '}')
}

func (w *encoder) part(p *llm.Part) {
	w.b = append(w.b, `{"type":`...)
	w.quote(string(p.Type))
	w.text(`,"text":`, p.Text)
	w.text(`,"call":`, p.Call)
	w.text(`,"name":`, p.Name)
	w.raw(`,"args":`, p.Args)
	w.truth(`,"error":`, p.Error)
	if p.Media != nil {
		w.any(`,"media":`, p.Media)
	}
	w.text(`,"provider":`, p.Provider)
	w.raw(`,"meta":`, p.Meta)
	w.b = append(w.b, '}')
}

func (w *encoder) reply(r *Reply) {
	w.b = append(w.b, '{')
	if r.ID != "" {
		w.b = append(w.b, `"id":`...)
		w.quote(r.ID)
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, `"n":`...)
	w.b = strconv.AppendInt(w.b, int64(r.N), 10)
	w.b = append(w.b, `,"kind":`...)
	w.quote(r.Kind)
	w.truth(`,"final":`, r.Final)
	w.text(`,"subject":`, r.Subject)
	w.raw(`,"envelope":`, r.Envelope)
	w.b = append(w.b, '}')
}

// The fields that are left out when they are empty. key has the comma before it
// and the colon behind.

func (w *encoder) text(key, s string) {
	if s != "" {
		w.b = append(w.b, key...)
		w.quote(s)
	}
}

func (w *encoder) texts(key string, list []string) {
	if len(list) > 0 {
		w.any(key, list)
	}
}

func (w *encoder) inputs(key string, list []Input) {
	for i := range list {
		if i == 0 {
			w.b = append(append(w.b, key...), '[')
		} else {
			w.b = append(w.b, ',')
		}
		w.input(&list[i])
	}
	if len(list) > 0 {
		w.b = append(w.b, ']')
	}
}

func (w *encoder) number(key string, n int64) {
	if n != 0 {
		w.b = strconv.AppendInt(append(w.b, key...), n, 10)
	}
}

func (w *encoder) truth(key string, is bool) {
	if is {
		w.b = append(append(w.b, key...), `true`...)
	}
}

func (w *encoder) raw(key string, data json.RawMessage) {
	if len(data) > 0 {
		w.json(key, data)
	}
}

// json writes what is JSON already, if it is.
func (w *encoder) json(key string, data json.RawMessage) {
	if !fastjson.Valid(data) {
		w.any(key, data) // which says what is wrong with it
		return
	}
	w.b = append(append(w.b, key...), data...)
}

func (w *encoder) moment(t time.Time) {
	w.b = append(w.b, '"')
	data, err := t.AppendText(w.b)
	if err != nil {
		w.any("", t) // which says what is wrong with it
		return
	}
	w.b = append(data, '"')
}

// quote does not escape what only HTML would have escaped, unless it must
// escape something else.
func (w *encoder) quote(s string) {
	if !plain(s) {
		w.b = fastjson.AppendString(w.b, s)
		return
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, s...)
	w.b = append(w.b, '"')
}

// plain reports whether s stands in JSON as it is.
func plain(s string) bool {
	ascii := true
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c == '"', c == '\\':
			return false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return ascii || utf8.ValidString(s)
}

// any leaves it to encoding/json.
func (w *encoder) any(key string, v any) {
	data, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("encode %T: %w", v, err)
	}
	w.b = append(append(w.b, key...), data...)
}
