package web_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/config"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/llm"
	"agenthost/tools"
)

const script = `
rules:
  - when: slow story
    delay: 350ms
    chunks:
      - "Once upon a time "
      - "there was a **small host**.\n\n"
      - "It kept every message:\n\n"
      - "1. the first,\n"
      - "2. the second,\n"
      - "3. and the last.\n\n"
      - "Even when the power went, "
      - "nothing was lost. "
      - "The end."
  - when: endless
    delay: 400ms
    chunks: ["a ", "b ", "c ", "d ", "e ", "f ", "g ", "h ", "i ", "j ", "k ", "l ", "m ", "n ", "o ", "p ", "q ", "r ", "s ", "t ", "u ", "v ", "w ", "x ", "y ", "z", " a ", "b ", "c ", "d ", "e ", "f ", "g ", "h ", "i ", "j ", "k ", "l ", "m ", "n ", "o ", "p ", "q ", "r ", "s ", "t ", "u ", "v ", "w ", "x ", "y ", "z"]
  - when: refund
    tool_calls: [{name: refund, args: {order: "A-1042", amount: "49.00 EUR", reason: "Arrived broken; the customer sent a photo."}}]
  - after_tool: refund
    text: "Done. ${result}"
  - when: colour
    tool_calls: [{name: ask_human, args: {question: "Which colour?", options: [Red, Blue]}}]
  - after_tool: ask_human
    text: "You like ${result}."
  - when: evil tool
    tool_calls: [{name: say, args: {text: "${text}"}}]
  - after_tool: say
    text: "${result}"
  - when: breaks
    error: {status: 400, message: "this model is broken"}
  - when: picture
    text: "Here it is."
    media: [{mime: image/png, name: dot.png, base64: iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==}]
  - when: page file
    text: "A page."
    media: [{mime: text/html, name: "a\"b.html", base64: PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==}]
  - when: turned page
    text: "A turned page."
    media: [{mime: text/html, name: "../a\u202egnp.html", base64: PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==}]
  - when: right to left
    text: "שלום עולם.\n\n- אחת\n- two\n\nhello world"
  - when: markdown
    text: "Here is what I found about **your order**:\n\n| Item | Price | State |\n|---|---|---|\n| Lamp *Aurora* | 49.00 | delivered |\n| Cable, 2 m | 7.50 | on its way |\n\nYou can ask for its state yourself:\n\n` + "```" + `sh\ncurl https://shop.test/orders/A-1042\n` + "```" + `\n\n> The parcel left Lyon this morning.\n\nMore in the [help pages](https://shop.test/help)."
  - text: "${text}"
`

// options are those of a host with the chat page and a scripted model.
func options(t testing.TB, change ...func(*config.Config)) host.Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := hosttest.Demo(t)
	cfg.Models["echo"] = llm.Config{Provider: "scripted", Script: path}
	a := &cfg.Agents[0]
	a.ID, a.Description = "ana", "Answers questions about your orders."
	a.Tools, a.Permissions = []string{"refund", "ask_human", "say"}, map[string]string{"refund": "ask", "say": "allow"}
	second := *a
	second.ID, second.Description = "bob", "Knows everything about deliveries."
	cfg.Agents = append(cfg.Agents, second)
	for _, c := range change {
		c(cfg)
	}
	return host.Options{Config: cfg, Log: hosttest.Log(t), Tools: []tools.Tool{
		tools.Typed(tools.Tool{Name: "refund", Description: "Pays money back."}, refund),
		tools.Typed(tools.Tool{Name: "say", Description: "Says something.", ReadOnly: true}, say),
	}}
}

type refundArgs struct {
	Order  string `json:"order"`
	Amount string `json:"amount"`
	Reason string `json:"reason"`
}

func refund(_ context.Context, _ tools.Call, in refundArgs) (string, error) {
	return "Order " + in.Order + " is refunded: " + in.Amount + ".", nil
}

type sayArgs struct {
	Text string `json:"text"`
}

func say(_ context.Context, _ tools.Call, in sayArgs) (string, error) {
	return strings.TrimPrefix(in.Text, "evil tool "), nil
}

// serve starts a host and returns its address.
func serve(t testing.TB, change ...func(*config.Config)) (base string, h *host.Host) {
	t.Helper()
	h, _ = hosttest.Start(t, options(t, change...))
	return "http://" + h.HTTP(), h
}
