package config_test

import (
	"fmt"

	"agenthost/config"
)

// Everything that is wrong with a file comes at once.
func ExampleParse() {
	_, err := config.Parse("agenthost.yaml", []byte(`
models:
  main: {provider: echo}
agents:
  - id: ana
    model: mian
    sesion: {ttl: 30m}
    channels: [web, {channel: telegram, queue: colect}]
`))
	fmt.Println(err)
	// Output:
	// agenthost.yaml:6:12: there is no model "mian" in models; did you mean "main"?
	// agenthost.yaml:7:5: unknown key "sesion"; did you mean "session"?
	// agenthost.yaml:8:48: queue "colect": want followup, collect, steer or interrupt; did you mean "collect"?
}
