package openai_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"agenthost/llm"
	"agenthost/llm/openai"
)

func Example() {
	server := httptest.NewServer(stream(events(say("Hello "), say("Ana."), finish("stop"), "[DONE]")))
	defer server.Close()
	p, err := openai.New(llm.Config{BaseURL: server.URL, Model: "llama"}, nil)
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
