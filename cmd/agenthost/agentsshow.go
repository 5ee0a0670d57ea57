package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agenthost/internal/control"
	"agenthost/internal/terminal"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/spf13/cobra"
)

func (a *app) agentsShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show AGENT",
		Short: "Show the prompt and the tools of an agent, as its model gets them",
		Long: `Show asks a running host what it sends to the model of an agent with each call,
besides the conversation: the whole system prompt, and the tools that there are by
now. Bindings that have words, models or tools of their own follow. Secrets of the
configuration are masked.`,
		Example: `  agenthost agents show assistant
  agenthost agents show assistant --json`,
		Args: takes("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkAgent(args[0]); err != nil {
				return err
			}
			return a.showAgent(cmd.Context(), args[0])
		},
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) showAgent(ctx context.Context, agent string) error {
	nc, _, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	p, err := askPreview(ctx, nc, agent)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(p)
	}
	a.printPreview(p)
	return nil
}

func askPreview(ctx context.Context, nc *nats.Conn, agent string) (control.Preview, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	p := control.Preview{}
	request, err := json.Marshal(control.Peek{Agent: agent})
	if err != nil {
		return p, err
	}
	msg, err := nc.RequestWithContext(ctx, control.PromptSubject, request)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return p, errNoHost
	case err != nil:
		return p, fmt.Errorf("show %s: %w", agent, err)
	case msg.Header.Get(micro.ErrorCodeHeader) == "404":
		hosts, err := askHosts(ctx, nc)
		if err != nil {
			return p, err
		}
		return p, noSuchAgent(agent, hosts.agents())
	case msg.Header.Get(micro.ErrorCodeHeader) != "":
		return p, fmt.Errorf("show %s: %s", agent, msg.Header.Get(micro.ErrorHeader))
	}
	return p, json.Unmarshal(msg.Data, &p)
}

func (a *app) printPreview(p control.Preview) {
	screen := a.screen()
	head := func(text string) { say(a.stdout, "%s\n", text) }
	if p.Behavior {
		head("behavior in Go; it may ask the model")
	}
	head("model: " + strings.Join(p.Models, ", then "))
	a.printPrompt(screen, p.System, p.Tools)
	if len(p.Output) > 0 {
		fmt.Fprintf(a.stdout, "\n%s\n%s\n", screen.Paint(terminal.Bold, "── answers keep to"), printable(string(p.Output)))
	}
	for _, b := range p.Bindings {
		fmt.Fprintf(a.stdout, "\n%s\n", screen.Paint(terminal.Bold, "── by "+printable(b.Subject)))
		head("model: " + strings.Join(b.Models, ", then "))
		a.printPrompt(screen, b.System, b.Tools)
	}
}

func (a *app) printPrompt(screen terminal.Screen, system string, tools []control.PreviewTool) {
	fmt.Fprintf(a.stdout, "\n%s\n", screen.Paint(terminal.Bold, "── system prompt, "+count(len(system), "byte")))
	if system != "" {
		say(a.stdout, "%s\n", system)
	}
	fmt.Fprintf(a.stdout, "\n%s\n", screen.Paint(terminal.Bold, "── "+count(len(tools), "tool")))
	for _, t := range tools {
		fmt.Fprintf(a.stdout, "%s  %s\n", screen.Paint(terminal.Cyan, printable(t.Name)), onOneLine(t.Description))
		if len(t.Schema) > 0 {
			fmt.Fprintf(a.stdout, "    %s\n", onOneLine(string(t.Schema)))
		}
	}
}
