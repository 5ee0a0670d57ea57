package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"agenthost/host"
	"agenthost/tools"

	"github.com/rs/zerolog"
)

// A program serves agents that have a tool of the program.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "agenthost.yaml")
	settings := `
nats: {embedded: {store: ./data, listen: ""}}
http: {listen: ""}
models: {main: {provider: echo}}
agents:
  - {id: ana, model: main, tools: [opening_hours], channels: [web]}
`
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	hours := tools.Typed(tools.Tool{Name: "opening_hours", ReadOnly: true}, openingHours)
	h, err := host.Open(path, host.Options{Tools: []tools.Tool{hours}, Log: zerolog.Nop()})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	select {
	case <-h.Ready():
		fmt.Println("ready")
	case err := <-ended:
		ended <- err
	}
	stop()
	fmt.Println(<-ended)
	// Output:
	// ready
	// <nil>
}
