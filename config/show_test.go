package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agenthost/config"

	"github.com/google/go-cmp/cmp"
)

// What is shown is a configuration again, and the same one.
func TestShownIsReadAsTheSame(t *testing.T) {
	for _, text := range []string{
		"models: {main: {provider: echo}}\nagents: [{id: ana, channels: [web]}]\n",
		"defaults: {model: main}\nmodels: {main: {provider: echo}}\nagents: [{id: ana}]\n",
		"models: {main: {provider: echo}}\nagents: [{id: ana, accepts: [], doors: []}, {id: ben, accepts: [ana], doors: [mcp]}]\n",
		"models: {main: {provider: echo, timeouts: {connect: 1500ms}, price: {input: 0.25, output: 1}}}\nagents: [{id: ana, retention: {sessions: 720h}, limits: {concurrency: 3, run_timeout: 90s, budget: {day: 0.5}}}]\n",
		"http: {listen: \"\"}\nnats: {embedded: {listen: \"\"}}\nmodels: {main: {provider: echo}}\nagents: [{id: ana}]\n",
	} {
		cfg, err := config.Parse("agenthost.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		shown, err := config.Show(cfg)
		if err != nil {
			t.Fatal(err)
		}
		masked, err := config.Masked(cfg)
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(masked)
		if err != nil {
			t.Fatal(err)
		}
		for _, shown := range [][]byte{shown, asJSON} {
			again, err := config.Parse("agenthost.yaml", shown)
			if err != nil {
				t.Fatalf("%v in\n%s", err, shown)
			}
			if diff := cmp.Diff(cfg, again); diff != "" {
				t.Errorf("-read +shown:\n%s", diff)
			}
		}
	}
}

func TestShowHasNoSecrets(t *testing.T) {
	t.Setenv("KEY", "sk-from-the-environment")
	cfg, err := config.Extensions{Channels: []string{"own"}}.Parse("agenthost.yaml", []byte(`
nats: {url: "nats://ann:p4ssword@10.0.0.5:4222,nats://bob:0ther@10.0.0.6", password: p4ss, user: ann}
http: {token: t0ken-of-http}
models: {main: {provider: openai, model: m, api_key: "${KEY}", base_url: "https://me:pw123@host/v1"}}
mcp: {wiki: {url: "https://wiki/mcp", headers: {Authorization: "Bearer b34rer", X-Team: shop}}, local: {command: [x], env: {GITHUB_TOKEN: gh0st, HOME: /home/x}}}
plugins: {telegram: {sales: {token: t3legram}}, slack: {a: {app_token: xapp0, bot_token: xbot0}}, own: {b: {stream: true, deep: {client_secret: [one, tw0], kept: fine}}}}
agents: [{id: ana, instructions: "My token is no secret.", limits: {concurrency: 3}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := config.Show(cfg)
	if err != nil {
		t.Fatal(err)
	}
	masked, err := config.Masked(cfg)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(masked)
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{"YAML": string(text), "JSON": string(data)} {
		for _, secret := range []string{"p4ss", "0ther", "t0ken", "sk-from", "pw123", "b34rer", "gh0st", "t3legram", "tw0", "xapp0", "xbot0"} {
			if strings.Contains(shown, secret) {
				t.Errorf("%s: the secret %s is shown:\n%s", name, secret, shown)
			}
		}
		for _, want := range []string{"My token is no secret.", "https://wiki/mcp", "shop", "/home/x", "nats://ann:[secret]@10.0.0.5:4222,nats://bob:[secret]@10.0.0.6", "concurrency", "stream", "kept"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: want %q in\n%s", name, want, shown)
			}
		}
	}
}

// Secrets also stand in the queries of addresses and among the arguments of programs.
func TestShowHasNoSecretsInAddressesAndArguments(t *testing.T) {
	t.Setenv("ARG", "argSECRET2")
	cfg, err := config.Parse("agenthost.yaml", []byte(`
nats: {url: "nats://t0kenSECRET@10.0.0.5:4222"}
models: {main: {provider: openai, model: m, base_url: "https://x/v1?key=qSECRET&api-version=3&sig=sSECRET#end"}}
mcp:
  a: {command: [foo, "--token=argSECRET", "--api-key=${ARG}", --password, "pa SECRET", -v, "--max-tokens=100"]}
  b: {command: [docker, run, -e, GITHUB_TOKEN=ghSECRET, -e, HOME=/home/x, mcp/github, --header, "Authorization: Bearer bSECRET", "--header=X-Api-Key: hSECRET", '{"token": "jSECRET"}', --auth]}
  c: {command: [sh, -c, "exec foo --client-secret csSECRET"]}
  d: {url: "https://wiki/mcp?access_token=${ARG}"}
  e: {url: "https://me:p@ssSECRET@wiki/mcp?page=7"}
plugins:
  webhook: {shop: {secret: whSECRET, reply: callback, callback: "https://shop/back?a=1&token=cb2SECRET"}}
  exec: {bot: {command: [bot, --auth, xSECRET, --log, debug]}}
agents: [{id: ana, model: main, instructions: "Ask for the token: it is in the mail.", channels: [web]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := config.Show(cfg)
	if err != nil {
		t.Fatal(err)
	}
	masked, err := config.Masked(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var data strings.Builder
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(masked); err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{"YAML": string(text), "JSON": data.String()} {
		if i := strings.Index(shown, "SECRET"); i >= 0 {
			t.Errorf("%s: a secret is shown: %q in\n%s", name, shown[max(0, i-20):i], shown)
		}
		for _, want := range []string{
			"nats://[secret]@10.0.0.5:4222", "https://x/v1?key=[secret]&api-version=3&sig=[secret]#end", "--token=[secret]", "--password", "--max-tokens=100",
			"GITHUB_TOKEN=[secret]", "HOME=/home/x", "mcp/github", "Authorization: [secret]", "exec foo --client-secret [secret]",
			"https://me:[secret]@wiki/mcp?page=7", "https://shop/back?a=1&token=[secret]", "debug", "Ask for the token: it is in the mail.",
		} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: want %q in\n%s", name, want, shown)
			}
		}
	}
}

// Variables of programs and headers have names that no key of a configuration has.
func TestShowHasNoSecretsInVariablesAndHeaders(t *testing.T) {
	cfg, err := config.Parse("agenthost.yaml", []byte(`
models: {main: {provider: echo}}
mcp:
  local:
    command: [docker, run, -e, DB_PASS=aSECRET, --pat, bSECRET, --cookie=cSECRET, "--passphrase=dSECRET", -e, COMPAT=on]
    env: {MYSQL_PWD: eSECRET, PGPASS: fSECRET, GITHUB_PAT: gSECRET, PASSPHRASE: hSECRET, GOOGLE_CREDENTIALS: iSECRET, BASIC_AUTH: "u:jSECRET", COMPAT: on, HOME: /home/x}
  wiki: {url: "https://wiki/mcp", headers: {Cookie: "sid=kSECRET", X-Auth: lSECRET, X-Signature: mSECRET, X-Team: shop}}
plugins: {exec: {bot: {command: [bot], env: {BOT_PASS: nSECRET, BOT_KEY: oSECRET}}}}
agents: [{id: ana, model: main, channels: [web]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := config.Show(cfg)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(text)
	for line := range strings.Lines(shown) {
		if strings.Contains(line, "SECRET") {
			t.Errorf("a secret is shown: %s", line)
		}
	}
	for _, want := range []string{"COMPAT=on", "COMPAT: \"on\"", "/home/x", "X-Team: shop", "DB_PASS=[secret]", "MYSQL_PWD: '[secret]'", "command:"} {
		if !strings.Contains(shown, want) {
			t.Errorf("want %q in\n%s", want, shown)
		}
	}
}
