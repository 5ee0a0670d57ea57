package anthropic_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"agenthost/llm"
	"agenthost/llm/anthropic"
)

func Example() {
	server := httptest.NewServer(stream(answered("Hello Ana.")))
	defer server.Close()
	p, err := anthropic.New(llm.Config{BaseURL: server.URL, Model: "claude-haiku-4-5"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	req := llm.Request{System: "Greet.", Messages: []llm.Message{llm.UserText("I am Ana.")}}
	for d, err := range p.Stream(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(d.Text)
	}
	// Output: Hello Ana.
}
