package starter

import (
	"testing"

	"agenthost/config"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
)

// Every channel that can be asked for is written so that check takes it, whatever
// somebody types.
func TestChoiceIsAConfiguration(t *testing.T) {
	t.Setenv("SECRET", "from the environment")
	strange := `a "b" ${c} 'd': #e \`
	c := Choice{Model: Model{Provider: "anthropic", Name: "claude-haiku-4-5", APIKey: strange}}
	for _, channel := range Channels() {
		for _, name := range []string{channel, channel + ".other"} {
			a, ok := NewAccount(name)
			if !ok {
				continue
			}
			for _, f := range fields[channel] {
				if f.Secret {
					a.Values[f.Key] = strange
				}
			}
			switch channel {
			case "matrix":
				a.Values["homeserver"], a.Values["user"] = "https://matrix.test", "@ana:matrix.test"
			case "irc":
				a.Values["server"], a.Values["nick"], a.Values["password"] = "irc.test:6697", "ana", "${SECRET}"
			case "email":
				a.Values["address"], a.Values["imap.server"], a.Values["smtp.server"], a.Values["smtp.password"] = "ana@shop.test", "imap.test:993", "smtp.test:465", ""
			}
			if missing, ok := a.Complete(); !ok {
				t.Fatalf("%s: %s is missing", name, missing.Key)
			}
			c.Accounts = append(c.Accounts, a)
		}
	}
	cfg, err := config.Parse("agenthost.yaml", []byte(c.Config("agenthost.schema.json", Literal)))
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) > 0 {
		t.Errorf("warned of %v", cfg.Warnings)
	}
	if got := cfg.Models["main"].APIKey; got != strange {
		t.Errorf("the key of the model is %q", got)
	}
	p := cfg.Plugins
	if diff := cmp.Diff(map[string]settings.Telegram{"main": {Token: strange}, "other": {Token: strange}}, p.Telegram); diff != "" {
		t.Errorf("telegram (-want +got):\n%s", diff)
	}
	if got := p.IRC["main"].Password; got != "from the environment" {
		t.Errorf("the password of irc is %q", got)
	}
	want := settings.MailServer{Server: "smtp.test:465", User: "ana@shop.test", Password: strange}
	if diff := cmp.Diff(want, p.Email["other"].SMTP); diff != "" {
		t.Errorf("smtp (-want +got):\n%s", diff)
	}
	if p.Web == nil || len(p.Slack) != 2 || len(p.Discord) != 2 || len(p.Matrix) != 2 {
		t.Errorf("plugins: %+v", p)
	}
}

func TestAccountsThatThereAreNot(t *testing.T) {
	for _, name := range []string{"", "telegramm", "web.other", ".main", "exec"} {
		if _, ok := NewAccount(name); ok {
			t.Errorf("%q is taken", name)
		}
	}
	a, _ := NewAccount("telegram")
	if missing, ok := a.Complete(); ok || missing.Key != "token" {
		t.Errorf("a bot without a token lacks %+v", missing)
	}
}

func TestNewModel(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "sk"}
	for name, want := range map[string]Model{
		"openai/gpt-5-mini":          {Provider: "openai", Name: "gpt-5-mini", APIKey: "${OPENAI_API_KEY}", Given: true},
		"anthropic/claude-haiku-4-5": {Provider: "anthropic", Name: "claude-haiku-4-5", Given: true},
		"ollama/llama3.2:3b":         {Provider: "openai", Name: "llama3.2:3b", BaseURL: "http://127.0.0.1:11434/v1", Given: true},
		"echo":                       {Provider: "echo", Given: true},
		"openai/org/model":           {Provider: "openai", Name: "org/model", APIKey: "${OPENAI_API_KEY}", Given: true},
	} {
		if got := NewModel(name, func(name string) string { return env[name] }); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}
