package build

import (
	"context"
	"fmt"

	"agenthost/llm"
)

// refresher looks for another key of a model, in the configuration as it is
// now: a file it takes the key from may have been replaced. The gate of the
// model calls it once at a time.
func (b *Builder) refresher(name string, c llm.Config) func(context.Context) (llm.Provider, error) {
	if b.opt.Load == nil || c.APIKey == "" {
		return nil
	}
	log := b.opt.Log.With().Str("model", name).Logger()
	return func(context.Context) (llm.Provider, error) {
		cfg, err := b.opt.Load()
		if err != nil {
			err = fmt.Errorf("read the key of model %q again: %w", name, err)
			log.Warn().Err(err).Msg("key was refused, and cannot be read again")
			return nil, err
		}
		key := cfg.Models[name].APIKey
		if key == "" || key == c.APIKey {
			log.Warn().Msg("key was refused, and the configuration has no other")
			return nil, nil
		}
		b.secrets.add(key)
		renewed := c
		renewed.APIKey = key
		p, err := b.provider(renewed)
		if err != nil {
			return nil, err
		}
		c = renewed
		log.Info().Msg("key was refused; using the one that the configuration has now")
		return p, nil
	}
}
