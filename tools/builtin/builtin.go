package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/rs/zerolog"

	"agenthost/tools"
)

// Options say what the tools may reach. The zero Options give the tools that
// need no workspace, and fetch_url for public addresses only.
type Options struct {
	// Workspace is the folder of an agent; it is made on first use. Without it
	// there are no tools for files and commands.
	Workspace func(agent string) string
	// Space is what the workspace of an agent may take on its disk, in bytes; nil:
	// DefaultSpace each.
	Space func(agent string) int64
	// AllowHosts names the hosts that fetch_url may reach without an approval.
	AllowHosts []string
	// AllowPrivate names the hosts, addresses and networks (CIDR) that fetch_url
	// may reach although they are not public.
	AllowPrivate []string
	// Resolver finds the addresses that fetch_url dials; nil: the machine's.
	Resolver *net.Resolver
	// Network reports whether commands of an agent may use the network; nil: of
	// none.
	Network func(agent string) bool
	// NoSandbox runs commands with all rights of the host's user, also where the
	// kernel has a sandbox.
	NoSandbox bool
	// Reminders keeps reminders; nil: there is no tool for them.
	Reminders Reminders
	Log       zerolog.Logger
}

// New returns the tools, in the order in which people read about them. The only
// error is an entry of AllowHosts or AllowPrivate that means nothing.
func New(o Options) ([]tools.Tool, error) {
	allow, err := parseAllowed(o.AllowPrivate)
	if err != nil {
		return nil, fmt.Errorf("fetch.allow_private: %w", err)
	}
	open, err := parseHosts(o.AllowHosts)
	if err != nil {
		return nil, fmt.Errorf("fetch.allow_hosts: %w", err)
	}
	all := []tools.Tool{nowTool(), askHumanTool(), delegateTool()}
	if o.Reminders != nil {
		all = append(all, remindTool(o.Reminders))
	}
	if o.Workspace != nil {
		files := newWorkspaces(o)
		all = append(
			all, files.readTool(), files.writeTool(), files.editTool(), files.listTool(), files.searchTool(),
			commandTool(newCommands(files, o)),
		)
	}
	all = append(all, fetchTool(newFetcher(allow, open, o.Resolver)))
	for i := range all {
		all[i].Source = "built in"
	}
	return all, nil
}

// decoded makes a tool's function out of one that takes its arguments by type.
func decoded[A any](run func(context.Context, tools.Call, A) (tools.Result, error)) func(context.Context, tools.Call) (tools.Result, error) {
	return func(ctx context.Context, call tools.Call) (tools.Result, error) {
		var args A
		if len(call.Args) > 0 {
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return tools.Result{}, fmt.Errorf("%s: decode arguments: %w", call.Name, err)
			}
		}
		return run(ctx, call, args)
	}
}

// A span is a time.Duration that is a string like "90s" in JSON; 0 when absent.
type span time.Duration

func (s *span) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no time span such as 90s, 10m or 2h", text)
	}
	*s = span(d)
	return nil
}
