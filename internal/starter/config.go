package starter

import (
	"regexp"
	"strconv"
	"strings"
)

// A Choice is what the configuration to start from has.
type Choice struct {
	Model    Model
	Accounts []Account
}

// DefaultChannel is the channel where none is named: the chat page, which needs no account.
const DefaultChannel = "web"

// A Keeper says what stands in the configuration for a secret of that name.
type Keeper func(name, value string) string

// Config is the configuration to start from, with the name of its schema.
func (c Choice) Config(schemaFile string, keep Keeper) string {
	return "# yaml-language-server: $schema=./" + schemaFile + `

# NATS runs inside agenthost and keeps everything in ./data.
# With a NATS of your own:
# nats:
#   url: nats://127.0.0.1:4222

models:
  main: ` + c.Model.flow(keep) + otherModels + c.plugins(keep) + `
agents:
  - id: assistant
    description: Answers questions.
    model: main
    instructions: |
      You are a friendly assistant. Answer briefly.
    # Where messages come from: plugin.inbound.demo, as in
    #   nats pub plugin.inbound.demo 'hello'
    # The answers go to plugin.outbound.demo.
    channels: [` + strings.Join(c.bindings(), ", ") + `]
`
}

// otherModels shows what else can stand for the model. What is no key of YAML
// there is a comment within the comment.
const otherModels = `
  # others:
  # main: {provider: openai, model: gpt-5-mini, api_key: "${OPENAI_API_KEY}"}
  # main: {provider: openai, model: "llama3.2:3b", base_url: "http://127.0.0.1:11434/v1"}   # Ollama
  # main: {provider: openai, model: …, api_key: …, base_url: https://…/v1}                  # any compatible server
  # main: {provider: anthropic, model: claude-haiku-4-5, api_key: "${ANTHROPIC_API_KEY}"}
`

// flow is a model in one line of YAML.
func (m Model) flow(keep Keeper) string {
	key := m.APIKey
	if key != "" {
		key = kept(keep, m.Provider+"-api-key", key)
	}
	parts := []string{"provider: " + m.Provider}
	for _, p := range []struct{ key, value string }{
		{"model", quoted(m.Name)}, {"api_key", key}, {"base_url", quoted(m.BaseURL)},
	} {
		if p.value != "" {
			parts = append(parts, p.key+": "+p.value)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (c Choice) bindings() []string {
	list := []string{"demo"}
	for _, a := range c.Accounts {
		if a.Instance == "" {
			list = append(list, a.Channel)
		} else {
			list = append(list, "{channel: "+a.Channel+", instance: "+a.Instance+"}")
		}
	}
	return list
}

// plugins is the section of the accounts, those of a channel together.
func (c Choice) plugins(keep Keeper) string {
	if len(c.Accounts) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("\nplugins:\n")
	for _, channel := range Channels() {
		begun := false
		for _, a := range c.Accounts {
			switch {
			case a.Channel != channel:
				continue
			case a.Instance == "":
				text.WriteString("  " + channel + ": {}   # the chat page, /chat\n")
				continue
			case !begun:
				text.WriteString("  " + channel + ":\n")
				begun = true
			}
			text.WriteString("    " + a.Instance + ":\n" + a.lines(keep))
		}
	}
	return text.String()
}

// lines are the values of an account; a key with a dot is one of a mapping below it.
func (a Account) lines(keep Keeper) (text string) {
	within := ""
	for _, f := range fields[a.Channel] {
		value := a.Values[f.Key]
		if value == "" {
			continue
		}
		parent, key, nested := strings.Cut(f.Key, ".")
		indent := "      "
		switch {
		case !nested:
			key = parent
		case parent != within:
			text += indent + parent + ":\n"
			within = parent
			fallthrough
		default:
			indent += "  "
		}
		written := quoted(value)
		if f.Secret {
			written = kept(keep, strings.ReplaceAll(a.Name()+"-"+f.Key, ".", "-"), value)
		}
		text += indent + key + ": " + written + "\n"
	}
	return text
}

var variable = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

// kept is a secret as the configuration has it; what names a variable stays as it is.
func kept(keep Keeper, name, value string) string {
	if variable.MatchString(value) {
		return strconv.Quote(value)
	}
	return keep(name, value)
}

// Literal keeps a secret in the configuration itself, where nobody else will read it.
func Literal(_, value string) string { return quoted(value) }

// quoted is text as YAML and the loader read it back; empty stays empty.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	if variable.MatchString(text) {
		return strconv.Quote(text)
	}
	return strconv.Quote(strings.ReplaceAll(text, "${", "$${"))
}
