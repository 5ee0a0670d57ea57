package gemini_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"agenthost/llm"
	"agenthost/llm/gemini"
)

func Example() {
	server := httptest.NewServer(stream(events(say("Hello "), say("Ana."), finish("STOP"))))
	defer server.Close()
	p, err := gemini.New(llm.Config{BaseURL: server.URL, Model: "gemini-2.5-flash"}, nil)
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
