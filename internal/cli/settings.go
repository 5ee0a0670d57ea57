package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"agenthost/config"
)

// DefaultConfig is read when -c names nothing, and written by init.
const DefaultConfig = "agenthost.yaml"

// otherConfig is how some call it.
const otherConfig = "agenthost.yml"

// Settings reads the configuration that -c names, else that of the working
// folder. Without any it is the demo, and path is empty. Flags and environment
// are above what it says of NATS.
func (a *App) Settings() (cfg *config.Config, path string, err error) {
	if path, err = a.FindConfig(); err != nil {
		return nil, "", err
	}
	if path != "" {
		cfg, err = a.Load(path)
		return cfg, path, err
	}
	cfg = config.Demo()
	cfg.NATS, err = a.withToken(a.NATS.over(cfg.NATS, a.Getenv))
	return cfg, "", err
}

// Load reads the configuration at path.
func (a *App) Load(path string) (*config.Config, error) {
	cfg, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	cfg.NATS, err = a.withToken(a.NATS.over(cfg.NATS, a.Getenv))
	return cfg, err
}

// FindConfig is the path of the configuration, empty when there is none.
func (a *App) FindConfig() (string, error) {
	if a.ConfigPath != "" {
		return a.ConfigPath, nil
	}
	switch _, err := os.Stat(DefaultConfig); {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(otherConfig); err == nil { // the demo would be a surprise
			return "", fmt.Errorf("%s is not read; call it %s, or name it with -c %s", otherConfig, DefaultConfig, otherConfig)
		}
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for configuration: %w", err)
	}
	return DefaultConfig, nil
}
