package host

import (
	"agenthost/internal/control"
	"agenthost/internal/doctor"
	"agenthost/internal/eval"
	"agenthost/internal/mcplogin"
)

// What has moved, for the packages that still import it from here.
type (
	AgentStatus    = control.AgentStatus
	Allowed        = control.Allowed
	Answer         = control.Answer
	Archive        = control.Archive
	Branching      = control.Branching
	Chunk          = control.Chunk
	Comparison     = eval.Comparison
	DeadChoice     = control.DeadChoice
	DeadLetter     = control.DeadLetter
	DeadLetters    = control.DeadLetters
	DeadListing    = control.DeadListing
	DeadNumber     = control.DeadNumber
	DeadOutcome    = control.DeadOutcome
	DeadPage       = control.DeadPage
	Deed           = eval.AgentRun
	Deletion       = control.Deletion
	Doctor         = doctor.Doctor
	Event          = control.Event
	Fact           = control.Fact
	Finding        = doctor.Finding
	Follower       = control.Follower
	Fork           = control.Fork
	HeartbeatCost  = eval.HeartbeatCost
	Heartbeats     = control.Heartbeats
	ModelStatus    = control.ModelStatus
	Note           = control.Note
	Outcome        = eval.Outcome
	Pair           = eval.Pair
	Peek           = control.Peek
	Preview        = control.Preview
	PreviewTool    = control.PreviewTool
	Reloaded       = control.Reloaded
	Removal        = control.Removal
	Report         = doctor.Report
	Retried        = control.Retried
	RunReport      = control.RunReport
	RunStatus      = control.RunStatus
	Scheduled      = control.Scheduled
	SessionHit     = control.SessionHit
	SessionListing = control.SessionListing
	SessionPage    = control.SessionPage
	SessionSearch  = control.SessionSearch
	Status         = control.Status
	Stop           = control.Stop
	ToolUse        = eval.ToolUse
	Undone         = control.Undone
	Verdict        = doctor.Verdict
	Waiting        = control.Waiting
)

const (
	AbortSubject         = control.AbortSubject
	Approve              = control.Approve
	ApproveSubject       = control.ApproveSubject
	BreakerSubject       = control.BreakerSubject
	DeadLettersSubject   = control.DeadLettersSubject
	DeleteSessionSubject = control.DeleteSessionSubject
	Deny                 = control.Deny
	ForApproval          = control.ForApproval
	ForDelegate          = control.ForDelegate
	ForQuestion          = control.ForQuestion
	ForkSessionSubject   = control.ForkSessionSubject
	PromptSubject        = control.PromptSubject
	PurgeDeadSubject     = control.PurgeDeadSubject
	ReloadSubject        = control.ReloadSubject
	RetryDeadSubject     = control.RetryDeadSubject
	RunsSubject          = control.RunsSubject
	ServiceName          = control.ServiceName
	SessionsSubject      = control.SessionsSubject
	ShowDeadSubject      = control.ShowDeadSubject
	SpeakingSubject      = control.SpeakingSubject
	StatusSubject        = control.StatusSubject
	VerdictFail          = doctor.VerdictFail
	VerdictOK            = doctor.VerdictOK
	VerdictWarn          = doctor.VerdictWarn
)

var (
	AllAllowed        = control.AllAllowed
	AllNotes          = control.AllNotes
	AllScheduled      = control.AllScheduled
	AllWaiting        = control.AllWaiting
	CancelReminder    = control.CancelReminder
	DeleteNote        = control.DeleteNote
	DeleteSession     = control.DeleteSession
	ErrNoSession      = control.ErrNoSession
	ErrNotWaiting     = control.ErrNotWaiting
	ErrSessionRunning = control.ErrSessionRunning
	Follow            = control.Follow
	HeartbeatCosts    = eval.HeartbeatCosts
	Line              = eval.Line
	MCPLogin          = mcplogin.Run
	Money             = control.Money
	NewFollower       = control.NewFollower
	OpenDeadLetters   = control.OpenDeadLetters
	ReadReloaded      = control.ReadReloaded
	ReadRuns          = control.ReadRuns
	ReadStatus        = control.ReadStatus
	ReadWaiting       = control.ReadWaiting
	Reask             = eval.Rerun
	Replay            = eval.Replay
	Revoke            = control.Revoke
	RouteKey          = control.RouteKey
	Scopes            = control.Scopes
	SessionID         = control.SessionID
	Sessions          = control.Sessions
	ShadowDiff        = eval.ShadowDiff
	WholeCall         = control.WholeCall
)
