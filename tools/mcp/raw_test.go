package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// A message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string   `json:"name"`
		Arguments cutOrder `json:"arguments"`
		Cursor    string   `json:"cursor"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result struct {
		Action string `json:"action"`
	} `json:"result"`
}

func listen(handle func(message)) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 10<<20)
	for in.Scan() {
		var m message
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		handle(m)
	}
}

func answer(id json.RawMessage, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

// serveRaw is as odd as servers that are met with: it speaks before it is
// asked, numbers its requests from 0, and goes on about a cancelled call without
// ever answering it. It lists in two pages, and one name twice.
func serveRaw() {
	var asking, stuck, broken json.RawMessage
	listen(func(m message) {
		switch m.Method {
		case "initialize":
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"odd","version":"1"}}`)
		case "tools/list":
			if broken != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"out of order"}}`+"\n", m.ID)
				answer(broken, `{"content":[]}`)
				return
			}
			if m.Params.Cursor == "" {
				answer(m.ID, `{"tools":[{"name":"ask","inputSchema":{"type":"object"}},{"name":"stuck","inputSchema":{"type":"object"}}],"nextCursor":"2"}`)
				return
			}
			answer(m.ID, `{"tools":[{"name":"ask","description":"twice","inputSchema":{"type":"object"}},{"name":"","inputSchema":{"type":"object"}},{"name":"visit","inputSchema":{"type":"object"}},{"name":"break","inputSchema":{"type":"object"}},{"name":"last","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			switch m.Params.Name {
			case "ask":
				asking = m.ID
				fmt.Println(`{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}`)
			case "visit":
				asking = m.ID
				fmt.Println(`{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"mode":"url","message":"Go there.","url":"http://x","elicitationId":"1"}}`)
			case "break": // answered after the list is asked for
				broken = m.ID
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			case "stuck":
				stuck = m.Params.Meta.Token
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`+"\n", stuck)
			default:
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such tool"}}`+"\n", m.ID)
			}
		case "notifications/cancelled":
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":2}}`+"\n", stuck)
		case "ping":
			answer(m.ID, `{}`)
		case "": // the answer to request 0
			answer(asking, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, m.Result.Action))
		}
	})
}

// serveModern refuses the usual way to begin a session.
func serveModern() {
	listen(func(m message) {
		switch m.Method {
		case "server/discover":
			answer(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		case "tools/list":
			answer(m.ID, `{"resultType":"complete","tools":[{"name":"new","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			answer(m.ID, `{"resultType":"complete","content":[{"type":"text","text":"modern"}]}`)
		default:
			if m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", m.ID)
			}
		}
	})
}
