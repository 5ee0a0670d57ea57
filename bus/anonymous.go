package bus

import (
	"context"
	"encoding/json"

	"agenthost/internal/natsserver"

	"github.com/nats-io/nats.go"
)

// LogInHint is what helps a connection without the token.
const LogInHint = "without the token of the embedded server a connection has the rights of a channel only: as the user of the host, run this in its folder or name its configuration with -c; or make a NATS context there with \"agenthost nats-context\" and use it here with --context agenthost"

// Anonymous reports whether nc is connected to the embedded server of a host
// without its token, so that it has the rights of a channel only.
func Anonymous(ctx context.Context, nc *nats.Conn) bool {
	if o := nc.Opts; o.User != "" || o.Token != "" || o.Nkey != "" || o.UserJWT != nil || o.TokenHandler != nil || o.UserInfo != nil {
		return false
	}
	answer, err := nc.RequestWithContext(ctx, "$SYS.REQ.USER.INFO", nil)
	if err != nil {
		return false
	}
	var info struct {
		Data struct {
			Account string `json:"account"`
		} `json:"data"`
	}
	return json.Unmarshal(answer.Data, &info) == nil && info.Data.Account == natsserver.ChannelAccount
}
