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
	switch path, err = a.configPath(); {
	case err != nil:
		return nil, "", err
	case path == "":
		cfg = config.Demo()
	default:
		if cfg, err = config.Load(path); err != nil {
			return nil, path, err
		}
	}
	cfg.NATS = a.nats.over(cfg.NATS, a.getenv)
	return cfg, path, nil
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
