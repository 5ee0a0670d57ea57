package config

import (
	"encoding/json"
	"fmt"
	"regexp"

	"gopkg.in/yaml.v3"
)

// mask stands in the place of a secret.
const mask = "[secret]"

// login is the password in an address.
var login = regexp.MustCompile(`(://[^/@:\s]*:)[^/@\s]+@`)

// Show is c as a file would say it, without its secrets.
func Show(c *Config) ([]byte, error) {
	var n yaml.Node
	if err := n.Encode(c); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	maskNode(&n, false)
	if c.HTTP == (HTTP{}) { // else it would read as the default
		var off yaml.Node
		if err := off.Encode(map[string]any{"http": map[string]string{"listen": ""}}); err != nil {
			return nil, fmt.Errorf("write configuration: %w", err)
		}
		n.Content = append(n.Content, off.Content...)
	}
	return yaml.Marshal(&n)
}

// maskNode masks the secrets below n; all that is below a secret key is one.
func maskNode(n *yaml.Node, secret bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			maskNode(n.Content[i+1], secret || secretKey.MatchString(n.Content[i].Value))
		}
	case yaml.ScalarNode:
		switch {
		case secret && n.Value != "" && n.Tag != "!!bool" && n.Tag != "!!null":
			n.SetString(mask)
		case n.Tag == "!!str":
			n.Value = login.ReplaceAllString(n.Value, "${1}"+mask+"@")
		}
	default:
		for _, below := range n.Content {
			maskNode(below, secret)
		}
	}
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
	if whole, ok := v.(map[string]any); ok && c.HTTP == (HTTP{}) {
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
