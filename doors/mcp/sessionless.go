package mcp

import (
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// noSession is what is wrong with a request outside of a session. The SDK says it with the error
// code 0, which JSON-RPC has not.
const noSession = "the request is of no session: begin a session with initialize, and send its Mcp-Session-Id with each request"

// lacksSession reports whether a request needs a session and names none.
func lacksSession(r *http.Request, body []byte) (id any, lacks bool) {
	if r.Method != http.MethodPost || r.Header.Get(headerSession) != "" || r.Header.Get(headerVersion) >= modern {
		return nil, false
	}
	m, err := decode(body)
	call, ok := m.(*jsonrpc.Request)
	if err != nil || !ok || !call.IsCall() {
		return nil, false
	}
	switch call.Method {
	case "initialize", "ping", "server/discover":
		return nil, false
	}
	var params struct {
		Meta map[string]any `json:"_meta"`
	}
	_ = json.Unmarshal(call.Params, &params) // params of another kind name no version
	version, _ := params.Meta[sdk.MetaKeyProtocolVersion].(string)
	return call.ID.Raw(), version < modern
}

// coded is an answer on stdio with a code of JSON-RPC where its error has none.
func coded(line []byte, answer *jsonrpc.Response) []byte {
	if e, ok := answer.Error.(*jsonrpc.Error); ok && e.Code == 0 { //nolint:errorlint // as it was decoded
		return errorOf(answer.ID.Raw(), jsonrpc.CodeInvalidRequest, e.Message)
	}
	return line
}
