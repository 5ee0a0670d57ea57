package bench

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// The models that a private host can be measured with.
const (
	ModelEcho   = "echo"
	ModelOpenAI = "openai" // a server in this process, by HTTP over the loopback
)

// Options say what is measured. The zero value of each means its default.
type Options struct {
	// NC and JS are the NATS of a host that runs already; nil: a private host
	// is started for each round.
	NC *nats.Conn
	JS jetstream.JetStream
	// Channel is where the agents of a running host take messages, as channel
	// or channel.instance.
	Channel string
	// Connect is how the echo finds the NATS of a running host: variables of
	// the environment, as bus.Config knows them, and arguments.
	Connect, ConnectArgs []string

	Hosts   int  // processes of a private fleet, on one NATS beside them; 0: one, with its NATS in it
	Cluster bool // that NATS is three servers, and streams have three replicas

	Sessions    int           // default 500
	Agents      int           // default 4; of a private host
	Messages    int           // a round, instead of Duration
	Duration    time.Duration // for which a round sends; default 5 s when Messages is 0
	Rate        float64       // messages a second; 0: as fast as they are answered
	Concurrency int           // unanswered at once, without a Rate; default 512
	Partitions  int           // of each agent of a private host; 0: none
	AgentSlots  int           // limits.concurrency of each agent of a private host; 0: its default
	Size        int           // bytes of text of a message; default 32
	Tools       int           // tool calls a run; needs ModelOpenAI
	Window      int           // of the model, in tokens; 0: as large as models have it
	Model       string        // default ModelEcho
	ModelDelay  time.Duration // before the first word of ModelOpenAI
	Sync        string        // as nats.embedded.sync; default always
	Rounds      int           // default 3; the median one is told
	NoRaw       bool          // do not measure the bare bus
	RawLog      bool          // the bare bus stores a commit for each message, too, as a host does
	Quiet       time.Duration // without any answer, after which the rest is lost; default 10 s

	Program    string // an agenthost binary to start
	NATSServer string // a nats-server binary to start for each round; empty: embedded, or Program beside hosts
	Dir        string // where the stores are made; default the system's temporary folder

	Progress func(Progress) // told ten times a second; nil: none is reported
	Log      zerolog.Logger // has the warnings of private hosts
}

// Progress is how far a round has come.
type Progress struct {
	What string
	Part float64 // 0 to 1
	Done int     // messages
}

// defaultDuration is the same for what answers in microseconds and for what
// waits for a disk: of either it takes that long to see a figure settle.
const defaultDuration = 5 * time.Second

// defaults fills what is left out and refuses what makes no sense together.
func (o Options) defaults() (Options, error) {
	o.Sessions = cmp.Or(o.Sessions, 500)
	o.Agents = cmp.Or(o.Agents, 4)
	o.Concurrency = cmp.Or(o.Concurrency, 512)
	o.Size = cmp.Or(o.Size, 32)
	o.Rounds = cmp.Or(o.Rounds, 3)
	o.Quiet = cmp.Or(o.Quiet, 10*time.Second) + o.ModelDelay*time.Duration(1+o.Tools)
	o.Sync = cmp.Or(o.Sync, "always")
	if o.Messages == 0 {
		o.Duration = cmp.Or(o.Duration, defaultDuration)
	}
	o.Model = cmp.Or(o.Model, ModelEcho)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o, o.valid()
}

// Check refuses options that make no sense, as Run does.
func (o Options) Check() error {
	_, err := o.defaults()
	return err
}

func (o Options) valid() error {
	for name, n := range map[string]float64{
		"sessions": float64(o.Sessions), "agents": float64(o.Agents), "concurrency": float64(o.Concurrency),
		"size": float64(o.Size), "rounds": float64(o.Rounds), "hosts": float64(o.hosts()),
	} {
		if n < 1 {
			return fmt.Errorf("%s %v: want 1 or more", name, n)
		}
	}
	switch {
	case o.Messages < 0, o.Duration < 0, o.Rate < 0, o.Tools < 0, o.ModelDelay < 0, o.Window < 0, o.AgentSlots < 0, o.Partitions < 0:
		return errors.New("messages, duration, rate, tools, delay, window and slots cannot be negative")
	case o.Messages > 0 && o.Duration > 0:
		return errors.New("messages and duration: want one of them")
	case o.Model != ModelEcho && o.Model != ModelOpenAI:
		return fmt.Errorf("model %q: want %s or %s", o.Model, ModelEcho, ModelOpenAI)
	case o.Model == ModelEcho && (o.Tools > 0 || o.ModelDelay > 0):
		return errors.New("the echo model neither calls tools nor waits; measure with the model openai")
	}
	return nil
}

// ownNATS reports whether NATS is not in the private host.
func (o Options) ownNATS() bool { return o.NATSServer != "" || o.Cluster || o.Hosts > 0 }

// hosts is how many processes a private fleet has.
func (o Options) hosts() int { return cmp.Or(o.Hosts, 1) }

// replicas are those of the streams of a private fleet.
func (o Options) replicas() int {
	if o.Cluster {
		return clusterSize
	}
	return 1
}

// external reports whether the host runs already.
func (o Options) external() bool { return o.NC != nil }
