package bus

import (
	"time"
)

// The streams and buckets, as other programs see them.
const (
	InboundStream   = "AGENT_INBOUND"
	OutboundStream  = "AGENT_OUTBOUND"
	RoutesStream    = "AGENT_ROUTES"
	SchedulesStream = "AGENT_SCHEDULES"
	SessionsStream  = "AGENT_SESSIONS"
	EventsStream    = "AGENT_EVENTS"
	DeadStream      = "AGENT_DEAD"
	AuditStream     = "AGENT_AUDIT" // what operators have done

	FilesBucket   = "AGENT_FILES"   // object store: what is too large for a message
	LanesBucket   = "AGENT_LANES"   // which host last held which lane; the key of the fleet
	WaitingBucket = "AGENT_WAITING" // the calls that wait for an approval or an answer
	AllowedBucket = "AGENT_ALLOWED" // what people have allowed for longer than once

	SpendBucket      = "AGENT_SPEND"      // what each agent has spent in each of the last days
	SchedulesBucket  = "AGENT_SCHEDULES"  // schedules and reminders, and when they are due next
	HeartbeatsBucket = "AGENT_HEARTBEATS" // what the ticks of agents came to
	MemoryBucket     = "AGENT_MEMORY"     // what agents remember
	PairingsBucket   = "AGENT_PAIRINGS"   // which strangers may write to an agent
	ChannelsBucket   = "AGENT_CHANNELS"   // how far accounts of channels have come
	RequestsBucket   = "AGENT_REQUESTS"   // what clients have asked for at a door, to know a repeat
	TokensBucket     = "AGENT_TOKENS"     // hashes of the tokens of the HTTP listener that were made by command, and of logins that were ended
)

// LaneStreams are the streams of which each lane has a consumer.
func LaneStreams() []string { return []string{InboundStream, RoutesStream, SchedulesStream} }

// DedupeWindow is how long a stream remembers a Nats-Msg-Id.
const DedupeWindow = 10 * time.Minute

// MemoryMarkers is how long the bucket of notes kept the marker of a deletion, and does
// where an older host deletes a note. Now they stay: when a marker is gone, a NATS server
// that was killed can bring back the note.
const MemoryMarkers = 7 * 24 * time.Hour

// PairingMarkers is how long the bucket of pairings keeps the marker of a deletion.
const PairingMarkers = 24 * time.Hour

// RequestsAge is how long a request is known again by its key.
const RequestsAge = 7 * 24 * time.Hour

// ChannelsMarkers is how long AGENT_CHANNELS keeps the marker of what has expired.
const ChannelsMarkers = time.Hour

// UpgradeStream has the messages of AGENT_ROUTES while that is made new.
const UpgradeStream = "AGENT_ROUTES_UPGRADE"

// RestoreStream is there while a backup is restored: no host starts meanwhile.
// RestoreSubject is its subject, on which nothing is published.
const (
	RestoreStream  = "AGENT_RESTORE"
	RestoreSubject = "agent.restore"
)

// Description is that of the streams and consumers that hosts make.
const Description = "agenthost"
