package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"agenthost/internal/sandbox"
	"agenthost/tools"
)

const (
	commandTimeout    = time.Minute // unless told otherwise
	maxCommandTimeout = 10 * time.Minute
)

func commandTool(c *commands) tools.Tool {
	return tools.Tool{
		Name:        tools.CommandTool,
		Description: "Runs a shell command in the workspace, without input, and returns what it prints and its exit code. What it leaves running is killed.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["command"],"properties":{
			"command":{"type":"string","minLength":1,"description":"for /bin/sh"},
			"timeout":{"type":"string","description":"such as 90s, up to 10m; 1m by default"}}}`),
		Timeout:    maxCommandTimeout + 10*time.Second, // its own comes first
		Commands:   commandLine,
		Unconfined: unconfined,
		Preview: func(_ context.Context, call tools.Call) tools.Preview {
			return tools.Preview{Sentence: "approval_command", Detail: commandLine(call.Args)}
		},
		Run: decoded(c.run),
	}
}

func unconfined() string {
	if p := sandbox.Check(); !p.Confined {
		return p.Layers
	}
	return ""
}

type commandArgs struct {
	Command string
	Timeout span
}

// commandLine is empty for arguments that run would refuse.
func commandLine(data json.RawMessage) string {
	var args commandArgs
	if err := json.Unmarshal(data, &args); err != nil {
		return ""
	}
	return args.Command
}

// commands runs the commands of all agents.
type commands struct {
	files   *workspaces
	level   func() sandbox.Level
	network func(agent string) bool // whether its commands reach the network
	log     zerolog.Logger
}

func newCommands(files *workspaces, o Options) *commands {
	c := &commands{files: files, level: sandbox.Strongest, network: o.Network, log: o.Log}
	if o.NoSandbox {
		c.level = func() sandbox.Level { return "" }
	}
	if o.Network == nil {
		c.network = func(string) bool { return false }
	}
	return c
}

func (c *commands) run(ctx context.Context, call tools.Call, args commandArgs) (tools.Result, error) {
	limit := cmp.Or(time.Duration(args.Timeout), commandTimeout)
	switch {
	case strings.TrimSpace(args.Command) == "":
		return tools.Result{}, errors.New("run command: no command")
	case limit > maxCommandTimeout:
		return tools.Result{}, fmt.Errorf("run command: timeout %s is above %s", limit, maxCommandTimeout)
	}
	dir, err := c.files.made(call.Agent)
	if err != nil {
		return tools.Result{}, err
	}
	temp, err := os.MkdirTemp("", "agenthost-command-")
	if err != nil {
		return tools.Result{}, fmt.Errorf("run command: %w", err)
	}
	defer c.remove(temp, call)
	space, err := c.files.space(ctx, call.Agent)
	if err != nil {
		return tools.Result{}, fmt.Errorf("run command: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %s", limit))
	defer cancel()
	ctx, stop := space.watch(ctx, dir, temp)
	defer stop()
	command := sandbox.Command{
		Text: args.Command, Dir: dir, Temp: temp, Limit: limit,
		Level: c.level(), Network: c.network(call.Agent), FileSize: space.room(),
	}
	end, err := command.Run(ctx)
	if err != nil {
		return tools.Result{}, fmt.Errorf("run command: %w", err)
	}
	if end.Left > 0 && ctx.Err() == nil {
		c.log.Info().Str("agent", call.Agent).Str("run", call.Run).Int("processes", end.Left).
			Msg("command: killed processes that it had left running")
	}
	return c.files.explain(ctx, call.Agent, commandResult(end, context.Cause(ctx))), nil
}

func (c *commands) remove(temp string, call tools.Call) {
	err := os.RemoveAll(temp)
	if errors.Is(err, fs.ErrPermission) {
		openUp(temp)
		err = os.RemoveAll(temp)
	}
	if err != nil {
		c.log.Warn().Err(err).Str("agent", call.Agent).Str("run", call.Run).Msg("delete the temporary folder of a command: failed")
	}
}

// openUp lets the owner of a folder look into all folders below it and change them. A
// command that shuts them would leave what is in them behind, outside of every limit.
func openUp(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(name, 0o700) // what stays shut is told when it cannot be deleted
		}
		return nil
	})
}

// commandResult tells apart a command that ended and one that was stopped, for
// cause.
func commandResult(e sandbox.Result, stopped error) tools.Result {
	text := e.Output
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if stopped != nil {
		return tools.Result{Text: fmt.Sprintf("%s[stopped: %v]", text, stopped), Failed: true}
	}
	return tools.Result{Text: fmt.Sprintf("%s[%s]", text, e.State), Failed: !e.OK}
}
