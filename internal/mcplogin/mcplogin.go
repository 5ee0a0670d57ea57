// Package mcplogin has a person log in to an MCP server of a configuration.
package mcplogin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agenthost/config"
	"agenthost/internal/build"
	"agenthost/internal/mcpoauth"
	"agenthost/tools"
)

// Run waits until a person has logged in to a configured MCP server, at the
// address that show gets, and returns where the token is kept.
func Run(ctx context.Context, cfg *config.Config, name string, show func(address string)) (file string, err error) {
	server, err := loginServer(cfg, name)
	if err != nil {
		return "", err
	}
	file, err = mcpoauth.Login{Server: server, Folder: build.TokenFolder(cfg), Show: show}.Run(ctx)
	if err != nil {
		return "", fmt.Errorf("log in to mcp server %q: %w", name, err)
	}
	return file, nil
}

// loginServer is a configured server that a person can log in to.
func loginServer(cfg *config.Config, name string) (tools.MCPConfig, error) {
	server, ok := cfg.MCP[name]
	switch {
	case !ok && len(cfg.MCP) == 0:
		return server, fmt.Errorf("mcp server %q is not configured; add it to the section mcp", name)
	case !ok:
		return server, fmt.Errorf("mcp server %q is not configured; there is %s", name, strings.Join(slices.Sorted(maps.Keys(cfg.MCP)), ", "))
	case server.URL == "":
		return server, fmt.Errorf("mcp server %q is a program; give it its keys by env, a login is for servers with a url", name)
	case server.OAuth.Grant == tools.ClientCredentials:
		return server, fmt.Errorf("mcp server %q has client_credentials: the host gets its tokens by itself", name)
	}
	return server, nil
}
