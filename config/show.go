package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"agenthost/internal/yamldoc"
)

// mask stands in the place of a secret.
const mask = "[secret]"

// login is the password in an address.
var login = regexp.MustCompile(`(://[^/@:\s]*:)[^/@\s]+@`)

// Show is c as a file would say it, without its secrets.
func Show(c *Config) ([]byte, error) {
	mappings := []any{c}
	if c.HTTP.none() { // else it would read as the default
		mappings = append(mappings, map[string]any{"http": map[string]string{"listen": ""}})
	}
	return yamldoc.Encode(maskScalar, mappings...)
}

// maskScalar masks a value below a secret key, and passwords in addresses.
func maskScalar(keys []string, value string, text bool) string {
	switch {
	case value != "" && slices.ContainsFunc(keys, secretKey.MatchString):
		return mask
	case text:
		return login.ReplaceAllString(value, "${1}"+mask+"@")
	}
	return value
}

// Masked is what Show shows, for JSON.
func Masked(c *Config) (any, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	if whole, ok := v.(map[string]any); ok && c.HTTP.none() {
		whole["http"] = map[string]any{"listen": ""}
	}
	return maskValue(v, false), nil
}

func maskValue(v any, secret bool) any {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			v[key] = maskValue(below, secret || secretKey.MatchString(key))
		}
	case []any:
		for i, below := range v {
			v[i] = maskValue(below, secret)
		}
	case string:
		if secret && v != "" {
			return mask
		}
		return login.ReplaceAllString(v, "${1}"+mask+"@")
	}
	return v
}
