package run

import (
	"encoding/json"
	"time"

	"agenthost/llm"
)

// A SignalKind names what happened outside of the machine.
type SignalKind string

// The signals.
const (
	Submit      SignalKind = "submit"       // a message came
	Emission    SignalKind = "emission"     // the model said a bit more
	StreamEnd   SignalKind = "stream_end"   // the model is done, or its stream broke
	Held        SignalKind = "held"         // the next call of the model needs an approval
	ToolSettled SignalKind = "tool_settled" // a call has its result, or waits for an answer
	Answered    SignalKind = "answered"     // the answer to a call that waits
	CompactEnd  SignalKind = "compacted"    // the summary is written, or is not to be had
	Abort       SignalKind = "abort"        // the order to stop the run
	Fault       SignalKind = "fault"        // the run cannot go on
)

// A Signal tells the machine one thing that happened. Kind says which fields
// count.
type Signal struct {
	Kind SignalKind
	At   time.Time

	// Run is the id of the run to start. In the other signals it may be empty;
	// when it is not, a signal for any other run than the one under way is
	// ignored, so that what an ended run left behind does no harm.
	Run string

	// submit
	Trigger Trigger // ByMessage when empty
	Inputs  []Input
	Attempt int   // of a message that may have been tried before, from 1
	Handed  int   // of the tries before, those that ended because their host stopped in order
	Lost    int64 // as in run.started
	// History is what was said before, elsewhere. It counts in a session without a
	// message.
	History []llm.Message
	Join    bool // steer the run under way, rather than wait for its end
	// Then ends a run that begins with this submit at once, without a call of
	// the model: a stream_end with what to answer, an abort or a fault. All of it
	// is one commit, so that no reader finds the run without its end.
	Then *Signal

	// Message is what the user says (submit), or the answer when it is another
	// one than the deltas make up (stream_end), as far as it came (abort, fault).
	Message *llm.Message

	Delta llm.Delta // emission

	// Called are the model.called of every attempt, oldest first, with what is
	// known of each: stream_end, held, compacted, abort, fault. A zero At becomes the
	// signal's.
	Called []Event
	logged bool       // Called is as the log has it
	Finish llm.Finish // stream_end; empty: as the deltas said
	// Offers reports whether the model was offered a tool (stream_end): what it asks for besides is
	// not run. nil: it may ask for any.
	Offers func(tool string) bool

	// Error is why it failed: stream_end, compacted, fault. Its Message is
	// shown to the person; empty, the sentence of its code is.
	Error *Error

	// TooLong: the model would not take what it was sent, because there was too
	// much of it (fault).
	TooLong bool

	Call   string // tool_settled, answered
	OK     bool   // tool_settled
	Result string // tool_settled
	Source string // tool_settled; FromTool when empty
	Wait   *Wait  // tool_settled: no result yet, it waits for this; held: for what

	Answer string // answered: Approve or Deny to an approval, else any text
	// Args are what is to run in place of what was asked for (answered, approve).
	Args json.RawMessage
	// Reversed says that a hook has made a failure of an answer, or has a call that was denied
	// count as one that went well (answered).
	Reversed bool
	// Late says that this is what becomes of a question without an answer in time (answered,
	// tool_settled). Notice is what the person reads of that, or of an approval that has no
	// effect; Result is what the model reads.
	Late   bool
	Notice string
	Scope  string // answered: once, session or always
	By     string // answered, abort
	Door   string // answered, abort: by which way it came

	// Input is the message that brought it, if one did: answered, tool_settled,
	// abort. The log remembers its id, so that it does nothing when it comes again.
	Input *Input

	// Forget leaves out of later calls of the model what was said so far: stream_end.
	Forget bool

	Summary string // compacted
	Reason  string // abort: what the person is told

	// TakenOver says that the run ends because an operator takes the chat over, and
	// where the words of that person go: abort.
	TakenOver *Address
}

// A Wait is what a call needs, from a person or another agent, before it can settle.
type Wait struct {
	For           string // ForApproval, ForQuestion or ForDelegate
	Prompt        string
	Said          string // what the person is sent; empty: Prompt
	Number        int    // as in the event that asks
	Newest        uint64 // as there
	Options       []string
	Default       string // the answer if none comes before Deadline
	Deadline      time.Time
	To            string // ForDelegate
	CorrelationID string
	ID            string // the random part of the id that an answer needs
	Context       json.RawMessage
	// Args are those that hooks have left of the call; empty: as the model asked. Of an approval
	// they are what it shows, and what runs once it is approved.
	Args json.RawMessage
}

// Budget is the name of a hold, where a call has the name of its tool.
const Budget = "budget"

// What a call can wait for.
const (
	ForApproval = "approval"
	ForQuestion = "question"
	ForDelegate = "delegate"
)

// The answers to an approval.
const (
	Approve = "approve"
	Deny    = "deny"
)
