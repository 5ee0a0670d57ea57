package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"agenthost/config"
)

// defaultConfig is read when -c names nothing, and written by init.
const defaultConfig = "agenthost.yaml"

// settings reads the configuration that -c names, else that of the working
// folder. Without any it is the demo, and path is empty. Flags and environment
// are above what it says of NATS.
func (a *app) settings() (cfg *config.Config, path string, err error) {
	if path, err = a.configPath(); err != nil {
		return nil, "", err
	}
	if path != "" {
		cfg, err = a.load(path)
		return cfg, path, err
	}
	cfg = config.Demo()
	cfg.NATS, err = a.withToken(a.nats.over(cfg.NATS, a.getenv))
	return cfg, "", err
}

// load reads the configuration at path.
func (a *app) load(path string) (*config.Config, error) {
	cfg, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	cfg.NATS, err = a.withToken(a.nats.over(cfg.NATS, a.getenv))
	return cfg, err
}

// configPath is the path of the configuration, empty when there is none.
func (a *app) configPath() (string, error) {
	if a.config != "" {
		return a.config, nil
	}
	switch _, err := os.Stat(defaultConfig); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for configuration: %w", err)
	}
	return defaultConfig, nil
}
