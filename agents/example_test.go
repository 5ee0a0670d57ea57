package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/llm"

	"github.com/nats-io/nats.go"
)

// A polite agent has its model say again what it should not have said. Nobody
// sees the first answer.
type polite struct{ agents.Base }

func (polite) Decide(ctx context.Context, t agents.Turn) (agents.Answer, error) {
	answer, err := t.Ask(ctx)
	if err != nil || !strings.Contains(answer.Text(), "stupid") {
		return answer, err
	}
	t.Messages = append(slices.Clip(t.Messages), answer.Message, llm.UserText("Say that politely."))
	return t.Ask(ctx)
}

// A seller begins a run, once, for each large sale that it hears of.
type seller struct {
	agents.Base
	nc *nats.Conn
}

func (seller) Topics() []string { return []string{"shop.*.sold"} }

func (s seller) OnEvent(_ context.Context, e agents.Event) error {
	var sale struct {
		ID  string
		Sum int
	}
	if err := e.Decode(&sale); err != nil || sale.Sum < 1000 {
		return err
	}
	data, err := json.Marshal(bus.Route{
		ID: "sale-" + sale.ID, Kind: bus.RouteEvent, From: "sales", Text: fmt.Sprintf("Sold for %d.", sale.Sum),
	})
	if err != nil {
		return err
	}
	return s.nc.Publish("agent.route."+e.Agent, data)
}

var _ agents.Behavior = seller{}

// A behaviour is a value: call its methods to test it.
func ExampleBehavior() {
	var b agents.Behavior = polite{}
	_, err := b.Decide(context.Background(), agents.Turn{Messages: []llm.Message{llm.UserText("hello")}})
	fmt.Println(err)
	// Output: no model: the turn is not of a run
}

func ExampleAnswer() {
	a := agents.Say("Let me look.").Use("now", nil).Use("fetch", map[string]string{"url": "https://example.com"})
	fmt.Println(a.Text())
	for _, call := range a.Message.Calls() {
		fmt.Println(call.Name, string(call.Args))
	}
	// Output:
	// Let me look.
	// now {}
	// fetch {"url":"https://example.com"}
}
