package natsserver

import (
	"context"
	"fmt"

	"agenthost/bus"
)

// Open starts the server in this process, unless the configuration names another, and
// opens a Bus on it. ctx bounds only the start.
func Open(ctx context.Context, opt bus.Options) (*bus.Bus, error) {
	if opt.Config.External() {
		return bus.Open(opt)
	}
	s, err := Start(ctx, opt)
	if err != nil {
		return nil, err
	}
	token := s.Token()
	if token != "" {
		opt.Config.User, opt.Config.Password = bus.EmbeddedUser, token
		opt.Config.Creds, opt.Config.NKey, opt.Config.Token = "", "", ""
	}
	opt.Server = s
	b, err := bus.Open(opt)
	if err != nil {
		if token == "" && s.Guarded() { // a pipe breaks before the server's answer is through
			err = fmt.Errorf("%w; nats.embedded.config %q may not know these credentials", err, opt.Config.Embedded.Config)
		}
		return nil, err
	}
	if err := s.ServeChannels(b.NC); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}
