// Package mcpoauth gives the requests to MCP servers their access tokens: those that
// a person got by a login, kept in a folder and refreshed, and those that the
// host gets for itself with client credentials.
package mcpoauth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"agenthost/internal/atomicfile"

	"golang.org/x/oauth2"
)

// A Grant is what a login has brought: a token, and what it takes to refresh it.
type Grant struct {
	Server       string           `json:"server"` // the URL of the MCP server, which alone gets the token
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	TokenURL     string           `json:"token_url"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style"`
	Scopes       []string         `json:"scopes,omitempty"`
	Token        *oauth2.Token    `json:"token"`
}

func (g *Grant) config() *oauth2.Config {
	return &oauth2.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret, Scopes: g.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.AuthStyle},
	}
}

// File is where the grant for the MCP server at address is kept below folder,
// the same for all names that the server has.
func File(folder, address string) string {
	sum := sha256.Sum256([]byte(address))
	host := "server"
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	return filepath.Join(folder, filepath.Base(host)+"-"+hex.EncodeToString(sum[:4])+".json")
}

// load reads the grant for the MCP server at address; nil when there is none.
func load(folder, address string) (*Grant, error) {
	file := File(folder, address)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	g := new(Grant)
	if err := json.Unmarshal(text, g); err != nil || g.Server != address || g.Token == nil {
		return nil, fmt.Errorf("token file %s is damaged or of another server; log in again", file)
	}
	return g, nil
}

// save keeps a grant, whole or not at all, for this user alone.
func save(folder string, g *Grant) error {
	text, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(File(folder, g.Server), append(text, '\n'), 0o600)
}
