package config_test

import (
	"strings"
	"testing"

	"agenthost/config"
)

const extended = `
models:
  main: {provider: rules}
agents:
  - id: ana
    channels: [web]
    tools: [opening_hours]
    permissions: {opening_hours: allow}
`

func TestConfigurationMayNameWhatItsProgramAdds(t *testing.T) {
	own := config.Extensions{Providers: []string{"rules"}, Tools: []string{"opening_hours"}}
	cfg, err := own.Parse("agenthost.yaml", []byte(extended))
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Models["main"].Provider; got != "rules" {
		t.Errorf("provider is %q", got)
	}
}

func TestConfigurationNamesWhatNoProgramAdds(t *testing.T) {
	_, err := config.Extensions{Providers: []string{"rule"}, Tools: []string{"opening_hour"}}.Parse("agenthost.yaml", []byte(extended))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`did you mean "rule"?`, `did you mean "opening_hour"?`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %s in\n%v", want, err)
		}
	}
}
