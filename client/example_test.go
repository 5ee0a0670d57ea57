package client_test

import (
	"context"
	"fmt"
	"os"

	"agenthost/client"
	"agenthost/config"
	"agenthost/host"

	"github.com/rs/zerolog"
)

// startHost starts a host with the agent demo, which echoes, on an embedded NATS
// without a port. stop ends it.
func startHost(ctx context.Context) (c *client.Client, stop func()) {
	dir, err := os.MkdirTemp("", "client-example-")
	if err != nil {
		panic(err)
	}
	cfg := config.Demo()
	cfg.HTTP.Listen, cfg.NATS.Embedded.Listen, cfg.NATS.Embedded.Store = "", new(""), dir
	h := host.New(host.Options{Config: cfg, Log: zerolog.Nop()})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	<-h.Ready()
	return client.New(h.Bus().NC, h.Bus().JS, client.Options{}), func() {
		cancel()
		<-ended
		os.RemoveAll(dir)
	}
}

func ExampleClient_Ask() {
	ctx := context.Background()
	c, stop := startHost(ctx) // elsewhere: client.Connect
	defer stop()
	reply, err := c.Ask(ctx, "demo", "hello", client.Party{From: "ana", Session: "greetings"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Text)
	// Output: hello
}

// A reply as it is written, without gap or repeat.
func ExampleConversation_Events() {
	ctx := context.Background()
	c, stop := startHost(ctx)
	defer stop()
	conv := c.Conversation("demo", client.Party{From: "ana"})
	if err := conv.Listen(true); err != nil {
		fmt.Println(err)
		return
	}
	defer conv.Close()
	m := client.NewMessage("hello")
	if _, err := conv.Send(ctx, m); err != nil {
		fmt.Println(err)
		return
	}
	events, end := conv.Events(ctx, m)
	defer end()
	written := ""
	for e := range events {
		switch {
		case e.Chunk != nil:
			written += e.Chunk.Text
		case e.Asked != nil:
			fmt.Println("asked:", e.Asked.Prompt)
		case e.Reply != nil:
			fmt.Println("reply:", e.Reply.Text)
		}
	}
	fmt.Println("whole:", written == "" || written == "hello")
	// Output:
	// reply: hello
	// whole: true
}

func ExampleClient_Sessions() {
	ctx := context.Background()
	c, stop := startHost(ctx)
	defer stop()
	if _, err := c.Ask(ctx, "demo", "hello", client.Party{From: "ana", Session: "greetings"}); err != nil {
		fmt.Println(err)
		return
	}
	list, err := c.Sessions().List(ctx, client.SessionPage{Agent: "demo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range list.Sessions {
		fmt.Println(s.Agent, s.Key)
	}
	// Output: demo route/ana/greetings
}

func ExampleClient_Hosts() {
	ctx := context.Background()
	c, stop := startHost(ctx)
	defer stop()
	hosts, err := c.Hosts(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, agent := range hosts.Served() {
		fmt.Println(agent.ID, agent.State)
	}
	// Output: demo ready
}
