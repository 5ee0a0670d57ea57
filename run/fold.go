package run

import (
	"encoding/json"
	"slices"

	"agenthost/llm"
)

// Fold adds one fact of the log to a state. It never fails: a type that it
// does not know, from a newer host, and a fact that does not fit, say the
// result of an unknown call, change nothing, but that an input has its end.
func Fold(s State, e Event) State {
	s.mine = false
	s.fold(&e)
	return s
}

func (s *State) fold(e *Event) {
	switch {
	case e.Type == Started:
		s.begin(e)
	case e.Type == InputAdded:
		s.accept(e)
	case e.Type == MessageAdded && e.Message != nil:
		s.add(*e.Message)
	case e.Type == Compacted:
		s.compact(e)
	case e.Type == Finished:
		s.finish(e)
	case e.Ends():
		s.dismiss(e)
	case e.Type == InputMoved:
		s.move(e)
	case e.Type == OperatorJoined || e.Type == OperatorHeard || e.Type == OperatorSaid || e.Type == OperatorLeft:
		s.foldOperator(e)
	case e.Type == ModelCalled:
		s.spend(e.Cost)
		if s.Run != nil {
			s.measure(e)
		}
	case s.Run != nil:
		s.foldRun(e)
	}
}

// foldRun folds what only a run can meet.
func (s *State) foldRun(e *Event) {
	switch e.Type {
	case ApprovalAsked, ApprovalAnswered:
		s.foldApproval(e)
	case ToolRequested:
		r := s.edit()
		r.Calls = append(r.Calls, Call{ID: e.Call, Name: e.Name, Args: e.Args, Rerun: e.Rerun})
		s.Phase = Dispatching
	case ToolFinished:
		s.settle(e)
	case QuestionAsked:
		s.ask(e, ForQuestion)
	case QuestionAnswered:
		s.noteAnswer(e)
	case Delegated:
		s.ask(e, ForDelegate)
	case Suspended:
		s.Phase = InSuspense
	case Replied:
		if e.Reply != nil {
			s.edit().Replies = e.Reply.N
		}
	}
}

func (s *State) foldApproval(e *Event) {
	switch {
	case e.For == Budget && e.Type == ApprovalAsked:
		s.edit().Hold = &Call{ID: e.Call, Name: e.Name, Asked: ForApproval, Prompt: e.Prompt, Options: e.Options, Deadline: e.Deadline, Wait: e.Wait, AskedAt: e.At, Number: e.Number, Newest: e.Newest}
	case e.For == Budget && s.Run.Hold != nil && s.Run.Hold.ID == e.Call:
		r := s.edit()
		r.Hold, r.Overdraft = nil, e.Answer == Approve
		s.Phase = Invoking
	case e.For != "": // it does not fit, or is of a newer host
	case e.Type == ApprovalAsked:
		s.ask(e, ForApproval)
	default:
		s.approve(e)
	}
}

// spend counts what a call of a model has cost.
func (s *State) spend(cost int64) {
	if cost <= 0 {
		return
	}
	s.Spent = llm.Sum(s.Spent, cost)
	if s.Run != nil {
		r := s.edit()
		r.Spent = llm.Sum(r.Spent, cost)
	}
}

// lose counts what died with the hosts that tried the run before, once, however
// often a try says so.
func (s *State) lose(all int64) {
	if all <= s.Run.Lost {
		return
	}
	s.spend(all - s.Run.Lost)
	s.Run.Lost = all
}

// begin starts a run, or counts one more attempt of the run under way, which
// keeps all it has.
func (s *State) begin(e *Event) {
	if s.Run != nil && s.Run.ID == e.Run {
		r := s.edit()
		r.Attempt, r.Handed = e.Attempt, e.Handed
		s.lose(e.Lost)
		return
	}
	s.mine = true
	s.Run = &Run{ID: e.Run, Trigger: e.Trigger, Attempt: e.Attempt, Handed: e.Handed, Started: e.At}
	s.lose(e.Lost)
	if len(e.Inputs) > 0 {
		s.Run.Inputs = e.Inputs
	}
	for i := range e.Inputs {
		s.noteWritten(&e.Inputs[i])
	}
	s.Phase = Invoking
	for len(s.Waiting) > 0 && s.Run.has(&s.Waiting[0]) { // as it mostly is, and then nothing is copied
		s.Waiting = s.Waiting[1:]
	}
	if len(s.Waiting) == 0 {
		s.Waiting = nil
	}
	for i := range s.Waiting { // there may be many: it copies none of them
		if s.Run.has(&s.Waiting[i]) {
			s.Waiting = slices.DeleteFunc(slices.Clone(s.Waiting), func(in Input) bool { return s.Run.has(&in) })
			return
		}
	}
}

func (r *Run) has(in *Input) bool {
	for i := range r.Inputs {
		if r.Inputs[i].ID == in.ID {
			return true
		}
	}
	return false
}

// accept keeps an input for later, or for the run that it joins.
func (s *State) accept(e *Event) {
	if e.Input != nil {
		s.noteWritten(e.Input)
	}
	if s.Run == nil || e.Run != s.Run.ID {
		if e.Input != nil {
			s.Waiting = append(s.Waiting, *e.Input)
		}
		return
	}
	r := s.edit()
	if e.Input != nil {
		r.Inputs = append(slices.Clip(r.Inputs), *e.Input)
		r.Joined++
	}
	if e.Message != nil {
		r.Joining = append(slices.Clip(r.Joining), *e.Message)
	}
}

// dismiss drops an input that waited and will get no run.
func (s *State) dismiss(e *Event) {
	if e.Input == nil || !slices.ContainsFunc(s.Waiting, func(in Input) bool { return in.ID == e.Input.ID }) {
		return
	}
	s.Waiting = slices.DeleteFunc(slices.Clone(s.Waiting), func(in Input) bool { return in.ID == e.Input.ID })
	if len(s.Waiting) == 0 {
		s.Waiting = nil
	}
}

// move has the results of tasks go to another subject.
func (s *State) move(e *Event) {
	moved := func(list []Input) []Input {
		at := func(in Input) bool { return slices.ContainsFunc(e.Inputs, func(m Input) bool { return m.ID == in.ID }) }
		if !slices.ContainsFunc(list, at) {
			return list
		}
		list = slices.Clone(list)
		for i := range list {
			if at(list[i]) {
				list[i].Envelope = withReplyTo(list[i].Envelope, e.To)
			}
		}
		return list
	}
	s.Waiting = moved(s.Waiting)
	if s.Run != nil {
		r := s.edit()
		r.Inputs = moved(r.Inputs)
	}
}

// withReplyTo is the envelope of a task whose result goes to that subject. One that is no task stays.
func withReplyTo(envelope json.RawMessage, to string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(envelope, &fields) != nil || fields["reply_to"] == nil {
		return envelope
	}
	fields["reply_to"], _ = json.Marshal(to) // a string: never fails
	changed, err := json.Marshal(fields)
	if err != nil {
		return envelope
	}
	return changed
}

// add appends to the conversation. What the user says during a run is the
// oldest of the messages that were to join.
func (s *State) add(m llm.Message) {
	s.Messages = append(s.Messages, m)
	s.Gauge.follow(&m)
	if s.Run == nil {
		return
	}
	switch {
	case m.Role == llm.Assistant:
		r := s.edit()
		r.ModelCalls++
		if !hasCalls(m.Parts) {
			r.Corrections = 0
		}
	case m.Role == llm.User && len(s.Run.Joining) > 0:
		r := s.edit()
		if r.Joining = r.Joining[1:]; len(r.Joining) == 0 {
			r.Joining = nil
		}
	}
}

// settle writes a result down. With the last one, all go to the model, in the
// order in which it asked.
func (s *State) settle(e *Event) {
	if s.Run.call(e.Call) == nil {
		return
	}
	r := s.edit()
	c := r.call(e.Call)
	c.Done, c.OK, c.Result, c.Source = true, e.OK, e.Result, e.Source
	c.running = false
	s.Phase = Dispatching
	if !r.settled() {
		return
	}
	m, corrected := r.results()
	s.Messages = append(s.Messages, m)
	if r.Corrections++; !corrected {
		r.Corrections = 0
	}
	r.Calls = nil
	s.Phase = Invoking
}

// results is the message with the results of all calls, and whether none of
// them could be run as asked.
func (r *Run) results() (m llm.Message, corrected bool) {
	m = llm.Message{Role: llm.Tool, Parts: make([]llm.Part, 0, len(r.Calls))}
	corrected = true
	for _, c := range r.Calls {
		m.Parts = append(m.Parts, llm.Part{Type: llm.ToolResult, Call: c.ID, Name: c.Name, Text: c.Result, Error: !c.OK})
		corrected = corrected && c.Source == FromCorrection
	}
	return m, corrected
}

func (s *State) ask(e *Event, what string) {
	if s.Run.call(e.Call) == nil {
		return
	}
	c := s.edit().call(e.Call)
	c.Asked, c.Prompt, c.Deadline, c.AskedAt, c.Number, c.Newest = what, e.Prompt, e.Deadline, e.At, e.Number, e.Newest
	c.Default = e.Default
	c.Options, c.To, c.CorrelationID, c.Context, c.Wait = nil, e.To, e.CorrelationID, e.Context, e.Wait
	if len(e.Options) > 0 {
		c.Options = e.Options
	}
	if len(e.Args) > 0 { // only where something has changed them
		c.Args = e.Args
	}
	c.running = false
}

// approve lets a call run that waited for it. A denial is written as the
// call's result.
func (s *State) approve(e *Event) {
	if e.Answer != Approve || s.Run.call(e.Call) == nil {
		return
	}
	c := s.edit().call(e.Call)
	*c = Call{ID: c.ID, Name: c.Name, Args: c.Args, Rerun: c.Rerun, Approved: true}
	if len(e.Args) > 0 {
		c.Args, c.Changed = e.Args, true
	}
	s.Phase = Dispatching
}

func (s *State) compact(e *Event) {
	if e.Through < 0 || e.Through > len(s.Messages) {
		return
	}
	s.Messages = shortened(s.Messages, e.Through, e.Summary)
	s.recount()
	s.Gauge.forget()
}

func (s *State) finish(e *Event) {
	s.Run = nil
	s.Phase = Settled
	if e.Outcome == OutcomeFailed {
		s.Phase = Faulted
	}
}
