package host

import (
	"context"

	"agenthost/config"
	"agenthost/internal/build"
)

// identities are the people with several accounts. A message is of the session that the
// configuration says when it comes.
type identities struct{ *assembly }

func (identities) Sections() []string { return []string{"identities"} }

func (identities) Diff(old, now *config.Config) []change {
	return entries("identity", old.Identities, now.Identities)
}

func (i identities) Apply(_ context.Context, next *build.Setup) error {
	i.identities.Set(next.Config.Identities)
	return nil
}

func (identities) Run(context.Context) error { return nil }
