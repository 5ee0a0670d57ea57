package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"agenthost/host"
	"agenthost/plugins"

	"github.com/rs/zerolog"
)

// A pager is a channel of a program's own: one message comes in, and replies go to a
// Go channel.
type pager struct {
	number  string
	replies chan<- string
}

// Run hands in what comes until ctx ends. The same message has the same id, whenever it
// is handed in again.
func (p *pager) Run(ctx context.Context, in *plugins.Inbox) error {
	in.Connected(p.number)
	if err := in.Take(ctx, plugins.Received{ID: "call-1", From: "ana", Text: "is anybody there?"}); err != nil {
		return fmt.Errorf("take call: %w", err)
	}
	<-ctx.Done()
	return nil
}

func (p *pager) Deliver(_ context.Context, m plugins.Message) (string, error) {
	p.replies <- m.To + " reads: " + m.Text
	return m.Key, nil
}

func (p *pager) Limits() plugins.Limits                      { return plugins.Limits{Text: 240} }
func (p *pager) Typing(context.Context, plugins.Place) error { return nil }
func (p *pager) Preview(context.Context, plugins.Place, string, string) (string, error) {
	return "", nil
}

// A program brings a channel along: its accounts stand in the configuration beside
// those of the product.
func ExampleOptions_channels() {
	dir, err := os.MkdirTemp("", "pager")
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
plugins: {pager: {night: {number: "555-0100"}}}
agents:
  - {id: ana, model: main, channels: [{channel: pager, instance: night}]}
`
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	replies := make(chan string, 1)
	newPager := func(settings map[string]any) (plugins.Channel, error) {
		number, _ := settings["number"].(string)
		if number == "" {
			return nil, fmt.Errorf("number: want one such as 555-0100")
		}
		return &pager{number, replies}, nil
	}
	h, err := host.Open(path, host.Options{Channels: map[string]plugins.Maker{"pager": newPager}, Log: zerolog.Nop()})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	select {
	case said := <-replies:
		fmt.Println(said)
	case err := <-ended:
		ended <- err
	}
	stop()
	fmt.Println(<-ended)
	// Output:
	// ana reads: is anybody there?
	// <nil>
}
