package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/config"
)

// Two lines to put before a case that is not about them.
const (
	echoModel = "models: {m: {provider: echo}}\n"
	agentA    = echoModel + "agents:\n  - id: a\n"
)

const noFile = ": no such file or folder; want the path of a file, relative to the folder of the configuration"

func TestProblems(t *testing.T) {
	t.Setenv("SECRET", "hunter2")
	tests := map[string]struct {
		text string
		want []string // without the name of the file
	}{
		"oauth of a program":        {"mcp: {a: {command: [x], oauth: {client_id: i}}}\n", []string{"1:32: oauth is for servers with a url; give a program its keys by env"}},
		"oauth without credentials": {"mcp: {a: {url: http://x/, oauth: {grant: client_credentials, client_id: i}}}\n", []string{"1:34: client_credentials: want client_id and client_secret"}},
		"oauth with a secret alone": {"mcp: {a: {url: http://x/, oauth: {client_secret: i}}}\n", []string{"1:34: client_secret without client_id; add client_id:"}},
		"several variables in a text": {"http: {token: \"${NO_A}${}${NO_B:-b}${NO_C}${\"}\n", []string{
			"1:15: ${ without its }; want ${NAME}, or $${ for the two characters themselves",
			"1:15: not the name of a variable between ${ and }; want ${NAME}, ${NAME:-default} or ${file:path}, or $${ for the two characters themselves",
			"1:15: variable NO_A is not set; set it, or give a default with ${NO_A:-default}",
			"1:15: variable NO_C is not set; set it, or give a default with ${NO_C:-default}",
		}},
		"a variable in a default": {"http: {token: \"${SECRET:-${NO_A:-a}}\"}\n", []string{"1:15: the default of ${SECRET:-…} holds a variable, and cannot; want text alone between :- and }"}},
		"several places of a prompt": {agentA + "    events: [{subject: a.b, prompt: \"${} ${subject.x} ${id\"}]\n", []string{
			`4:37: prompt: "${id" is not closed; want } behind the name, or $${ for the two signs themselves`,
			`4:37: prompt: "${subject.x}" is no token; want its number, from 0, such as ${subject.2}`,
			`4:37: prompt: "${}" is no name; want a path such as ${id} or ${items.0.name}, ${payload}, ${subject} or ${subject.2}`,
		}},
		"several fields of a cron line": {agentA + "    schedules: [{name: x, prompt: p, cron: 61 25 * * 1}]\n", []string{
			`4:44: cron "61 25 * * 1": there is no minute "61" and no hour "25"; want five or six fields, such as "0 8 * * 1-5"`,
		}},
		"binding without a channel, with more": {agentA + "    channels: [{queue: x, rate: {per: 1s}, stale: {after: 1h}}]\n", []string{
			"4:16: the binding has no channel; add channel:",
			`4:24: queue "x": want followup, collect, steer or interrupt`,
			"4:33: rate without messages: want rate: {messages: 20, per: 1m}",
			"4:51: stale has no do; add do: answer, drop or summarise",
		}},
		"two bindings without a channel": {agentA + "    channels: [{}, {}]\n", []string{"4:16: the binding has no channel; add channel:", "4:20: the binding has no channel; add channel:"}},
		"model without a provider, with more": {"models: {m: {base_url: x, effort: y, temperature: 3}}\n", []string{
			`1:13: model "m" has no provider; add provider:`,
			"1:24: base_url: want http://… or https://…",
			`1:35: effort "y": want none, low, medium or high`,
			"1:51: temperature: want a number from 0 to 2",
		}},
		"server by both ways, with more": {"mcp: {a: {command: [\"\"], url: x}}\n", []string{
			`1:10: mcp server "a": want one of command and url`,
			"1:20: command: want the name of a program first",
			"1:31: url: want http://… or https://…",
		}},
		"oauth of a program, with more": {"mcp: {a: {command: [x], oauth: {client_secret: i}}}\n", []string{
			"1:32: client_secret without client_id; add client_id:",
			"1:32: oauth is for servers with a url; give a program its keys by env",
		}},
		"sender twice, and denied": {agentA + "    channels: [{channel: web, senders: {allow: [a, a], deny: [a]}}]\n", []string{
			`4:49: "a" is in deny as well, which goes first; take one out`,
			`4:52: "a" is in deny as well, which goes first; take one out`,
			`4:52: "a" is there twice; keep one`,
		}},
		"account with a wrong name, with more": {echoModel + "plugins: {telegram: {A: {}}, exec: {web: {}}}\n", []string{
			`2:22: account "A": want 1 to 63 of a-z, 0-9, _ and -`,
			"2:25: account telegram.A has no token; add token:, the token that @BotFather gave",
			`2:37: channel "web" comes with agenthost; want another name`,
			"2:42: channel web has no command; add command:, the program and its arguments, such as [./mybot]",
		}},
		"oauth with another grant":     {"mcp: {a: {url: http://x/, oauth: {grant: password}}}\n", []string{"1:42: grant \"password\": want authorization_code or client_credentials"}},
		"empty":                        {"", []string{"the file is empty; want keys such as agents: and models:"}},
		"only comments":                {"# nothing\n", []string{"the file is empty; want keys such as agents: and models:"}},
		"null":                         {"---\n", []string{"the file is empty; want keys such as agents: and models:"}},
		"a list at the top":            {"- a\n", []string{"1:1: want keys such as agents: and models:, got a list"}},
		"a word at the top":            {"hello\n", []string{"1:1: want keys such as agents: and models:, got a single value"}},
		"language that there is not":   {agentA + "    language: gr\n", []string{`4:15: there is no language "gr"; did you mean "fr"?`}},
		"text that there is not":       {agentA + "    texts: {stoped: Halt.}\n", []string{`4:13: there is no text "stoped"; did you mean "stopped"?`}},
		"placeholder of another text":  {agentA + "    texts: {approval_fetch: \"{agent} {path}\"}\n", []string{`4:29: text approval_fetch has no placeholder {path}; want {address} or {agent}`}},
		"debounce_max below debounce":  {agentA + "    channels: [{channel: c, queue: collect, debounce: 2s, debounce_max: 1s}]\n", []string{"4:73: debounce_max 1s is below debounce 2s; want more"}},
		"debounce_max without collect": {agentA + "    channels: [{channel: c, debounce_max: 1s}]\n", []string{"4:43: debounce_max with queue followup; want queue: collect", "4:43: debounce_max without debounce; add debounce: 2s"}},
		"second document":              {"nats: {}\n---\nhttp: {}\n", []string{"2:1: a second document starts here; want one document a file"}},
		"broken second document":       {"nats: {}\n---\n}\n", []string{"3:1: not YAML: a value is missing here, or a bracket is not closed, or is one too many"}},
		"variable in brackets": {"models: {m: {provider: openai, model: x, api_key: ${KEY}}}\nagents: []\n", []string{
			"1:1: not YAML: the bracket that opens here is not closed, or a comma is missing; inside { } and [ ] a value with ${…} wants quotes",
		}},
		"variable in a list": {"agents:\n  - id: a\n    tools: [\n      now, x.${KIND}\n    ]\n", []string{
			"3:5: not YAML: the bracket that opens here is not closed, or a comma is missing; inside { } and [ ] a value with ${…} wants quotes",
		}},
		"quoted variable in brackets": {"models: {m: {provider: openai, model: x, api_key: \"${KEY}\"}\nagents: []\n", []string{
			"2:1: not YAML: the bracket that opens here is not closed, or a comma is missing",
		}},
		"unclosed bracket":              {"nats: {}\nmodels: {m: {provider: echo}\nagents: []\n", []string{"2:1: not YAML: the bracket that opens here is not closed, or a comma is missing"}},
		"unclosed quote":                {"http:\n  token: \"abc\n", []string{"2:3: not YAML: a quote is opened and not closed"}},
		"tab":                           {"nats:\n\turl: x\n", []string{"2:2: not YAML: a tab in the indentation; want spaces"}},
		"colon in a value":              {"nats: {}\nhttp:\n  listen: a: b\n", []string{"3:3: not YAML: a colon where none can be; want a smaller indentation, or the value in quotes"}},
		"no colon":                      {"nats:\n  url: x\n  lanes\n  replicas: 1\n", []string{"3:3: not YAML: a key without a colon; want key: value"}},
		"dedented key":                  {"nats: {}\nhttp:\n    listen: x\n  token: y\n", []string{"4:3: not YAML: in the block that starts here a key or an indentation is wrong; want the keys of one block in one column"}},
		"value that starts with an at":  {"http: {token: @abc}\n", []string{"1:1: not YAML: a value cannot start with one of @ ` % or a tab; want it in quotes"}},
		"value that starts with a star": {"http:\n  token: *hunter2\n", []string{"2:3: not YAML: a value that starts with * is the name of an anchor, and there is none of this name; want the value in quotes"}},
		"not UTF-8":                     {"http:\n  # \u00e9\n  token: é\xff\xfe\n", []string{"3:11: not YAML: a character that is not UTF-8; want the file saved as UTF-8"}},
		"control character":             {"# x\r\nhttp: {token: \x01}\n", []string{"2:15: not YAML: a control character; want it taken out, or in double quotes as \\x and its two digits"}},
		"cron line without quotes":      {agentA + "    schedules:\n      - name: x\n        cron: */5 * * * *\n", []string{"6:9: not YAML: a value cannot start with * or &; want it in quotes"}},
		"list on the line of its key":   {agentA + "    channels: - web\n", []string{"4:5: not YAML: a dash where no list can begin; want each dash on a line of its own"}},
		"text on the line of its bar":   {agentA + "    instructions: |Hi.\n", []string{"4:5: not YAML: words right behind | or >; want the text on the lines below"}},
		"backslash in double quotes":    {agentA + "    instructions: \"C:\\data\"\n", []string{"4:5: not YAML: a backslash in double quotes begins an escape, and there is none like this; want two backslashes, or single quotes"}},
		"tag that is none":              {echoModel + "http:\n  token: !a!b c\n", []string{"2:1: not YAML: in what starts here a value starts with !; want it in quotes"}},
		"pattern without quotes":        {agentA + "    tools: [*]\n", []string{"4:5: not YAML: a value cannot start with * or &; want it in quotes"}},
		"unknown key at the top":        {"agent: []\n", []string{`1:1: unknown key "agent"; did you mean "agents"?`}},
		"unknown key deep down": {agentA + "    sesion: {ttl: 1m}\n    session: {tll: 1m}\n", []string{
			`4:5: unknown key "sesion"; did you mean "session"?`,
			`5:15: unknown key "tll"; did you mean "ttl"?`,
		}},
		"unknown key like no other": {"nats: {colour: red}\n", []string{`1:8: unknown key "colour"; want context, creds, domain, embedded, inbox_prefix, lanes, nkey, owner, password, replicas, tls, token, url or user`}},
		"key twice":                 {echoModel + "nats: {}\nhttp: {}\nnats: {}\n", []string{`4:1: key "nats" is there twice, first in line 2; keep one`}},
		"key twice, with more": {"http: {token: a, token: \"${NO_A}\", [x]: {listen: \"${NO_B}\"}}\n", []string{
			`1:18: key "token" is there twice, first in line 1; keep one`,
			"1:25: variable NO_A is not set; set it, or give a default with ${NO_A:-default}",
			"1:36: want a plain word as a key",
			"1:50: variable NO_B is not set; set it, or give a default with ${NO_B:-default}",
		}},
		"merge key twice":             {agentA + "    session: {<<: {ttl: 1m}, <<: {ttl: 2m}}\n", []string{`4:30: key "<<" is there twice, first in line 4; keep one`}},
		"a list as a key":             {echoModel + "nats: {[a]: b}\n", []string{"2:8: want a plain word as a key"}},
		"merge of a word":             {agentA + "    session: {<<: word}\n", []string{"4:19: want a mapping after <<, got a single value"}},
		"anchor in itself":            {echoModel + "nats: &n\n  tls: *n\n", []string{"3:8: the anchor of this alias holds the alias itself"}},
		"list for a mapping":          {"nats: []\n", []string{"1:7: nats: want keys and values, got a list"}},
		"mapping for a list":          {"agents: {id: a}\n", []string{"1:9: agents: want a list, got a mapping"}},
		"word for names":              {"models: echo\n", []string{"1:9: models: want names, each with its value, got a single value"}},
		"mapping for text":            {"http: {token: {a: hunter2}}\n", []string{"1:15: token: want text, got a mapping"}},
		"list for a number":           {"nats: {lanes: [1]}\n", []string{"1:15: lanes: want a whole number, got a list"}},
		"word for a number":           {"nats: {lanes: many}\n", []string{`1:15: lanes: want a whole number, got "many"`}},
		"quoted number":               {"nats: {lanes: \"4\"}\n", []string{`1:15: lanes: want a whole number, got "4"`}},
		"fraction for a whole number": {"nats: {lanes: 1.5}\n", []string{`1:15: lanes: want a whole number, got "1.5"`}},
		"word for a truth value":      {agentA + "    heartbeat: {enabled: maybe}\n", []string{`4:26: enabled: want true or false, got "maybe"`}},
		"word for a sum":              {agentA + "    limits: {budget: {day: five}}\n", []string{`4:28: day: want a number, got "five"`}},
		"infinite sum":                {agentA + "    limits: {budget: {day: .inf}}\n", []string{`4:28: day: want 0 or more, got ".inf"`}},
		"negative number": {agentA + "    limits: {model_calls: -1, budget: {run: -0.5}}\n", []string{
			`4:27: model_calls: want 0 or more, got "-1"`,
			`4:45: run: want 0 or more, got "-0.5"`,
		}},
		"effort":                  {"models: {m: {provider: openai, model: m, effort: hihg}}\n", []string{`1:50: effort "hihg": want none, low, medium or high; did you mean "high"?`}},
		"anthropic temperature":   {"models: {m: {provider: anthropic, model: m, temperature: 1.5}}\n", []string{`1:58: temperature: want a number from 0 to 1 for anthropic`}},
		"a long subject":          {"hooks: [{on: before_message, subject: " + strings.Repeat("x", 256) + "}]\n", []string{"1:39: subject \"" + strings.Repeat("x", 60) + "…\": want 255 bytes at most"}},
		"temperature":             {"models: {m: {provider: openai, model: m, temperature: 3}}\n", []string{`1:55: temperature: want a number from 0 to 2`}},
		"burst without requests":  {"models: {m: {provider: openai, model: m, rate: {burst: 3}}}\n", []string{`1:56: burst without requests: want rate.requests too, in calls a minute`}},
		"negative price":          {"models: {m: {provider: openai, model: m, price: {input: -3, output: 1}}}\n", []string{`1:57: input: want 0 or more, got "-3"`}},
		"too many partitions":     {agentA + "    partitions: 65\n", []string{`4:17: partitions: want 64 at most, got "65"`}},
		"negative partitions":     {agentA + "    partitions: -1\n", []string{`4:17: partitions: want 0 or more, got "-1"`}},
		"negative maximum":        {agentA + "    session: {max: -1}\n", []string{`4:20: max: want 0 or more, got "-1"`}},
		"duration without a unit": {agentA + "    session: {ttl: 30}\n", []string{`4:20: ttl: want a duration with its unit, such as 30s or 10m, got "30"`}},
		"duration of nothing":     {agentA + "    limits: {run_timeout: 0s}\n", []string{`4:27: run_timeout: want a duration above 0, got "0s"`}},
		"negative duration":       {agentA + "    heartbeat: {interval: -1s}\n", []string{`4:27: interval: want a duration above 0, got "-1s"`}},
		"not a duration":          {agentA + "    heartbeat: {interval: soon}\n", []string{`4:27: interval: want a duration with its unit, such as 30s or 10m, got "soon"`}},
		"empty entry of a list":   {agentA + "    tools: [now, ]\n    delegates:\n      -\n", []string{"6:8: delegates: an entry of the list is empty; fill it in, or take it out"}},
		"wrong type of tag":       {echoModel + "agents: [{id: a, output_schema: {n: !!int abc}}]\n", []string{"2:37: n: a value that is not of the type of its tag"}},
		"nothing for an agent":    {echoModel + "agents: [~]\n", []string{"2:10: agents: an entry of the list is empty; fill it in, or take it out"}},
		"text for an agent":       {echoModel + "agents: [ana]\n", []string{"2:10: agents: want keys and values, got a single value"}},
		"url and context":         {"nats: {url: nats://x, context: y}\n", []string{"1:32: url and context together; want one of them"}},
		"url":                     {"nats: {url: 'nats://a:1, ftp://me:hunter2@x'}\n", []string{"1:13: url: want nats://host:port, or several with commas between them"}},
		"two ways to log in":      {"nats: {user: u, token: hunter2}\n", []string{"1:24: user and token together; want one way to log in"}},
		"password without user":   {"nats: {password: hunter2}\n", []string{"1:18: password without user; add user:"}},
		"half of tls":             {"nats: {tls: {cert: problem_test.go}}\n", []string{"1:13: tls with one of cert and key; want both, or neither"}},
		"files": {"nats: {creds: hunter2, nkey: testdata/x, tls: {ca: hunter2, cert: testdata, key: ../c}, embedded: {config: nosuch.conf}}\nmodels: {a.b: {provider: scripted, script: \"${SECRET}\"}}\n", []string{
			"1:15: creds" + noFile,
			"1:30: creds and nkey together; want one way to log in",
			"1:30: nkey" + noFile,
			"1:52: ca" + noFile,
			"1:67: cert: it is a folder; want the path of a file, relative to the folder of the configuration",
			"1:82: key" + noFile,
			"1:108: config" + noFile,
			"2:44: script" + noFile,
		}},
		"replicas":       {"nats: {replicas: 2}\n", []string{`1:18: replicas "2": want 1, 3 or 5`}},
		"lanes":          {"nats: {lanes: 0}\n", []string{`1:15: lanes "0": want 1 to 64`}},
		"too many lanes": {"nats: {lanes: 65}\n", []string{`1:15: lanes "65": want 1 to 64`}},
		"listen of the server": {"nats: {embedded: {listen: 4222, sync: sometimes}}\n", []string{
			`1:27: listen "4222": want host:port, or "" for no port`,
			`1:39: sync "sometimes": want always, or a duration such as 2m`,
		}},
		"NATS for everybody":           {"nats: {embedded: {listen: \":4222\"}}\n", []string{`1:27: listen ":4222" is open to other machines; add anonymous: none, or listen on 127.0.0.1:4222`}},
		"NATS without a choice":        {"nats: {embedded: {anonymous: some}}\n", []string{`1:30: anonymous "some": want channels, none, all`}},
		"domain of words":              {"nats: {domain: bad domain}\n", []string{`1:16: domain "bad domain": want a name such as edge, without spaces and . * >`}},
		"domain of tokens":             {"nats: {domain: a.b}\n", []string{`1:16: domain "a.b": want a name such as edge, without spaces and . * >`}},
		"domain that is a wildcard":    {"nats: {domain: '*'}\n", []string{`1:16: domain "*": want a name such as edge, without spaces and . * >`}},
		"domain with a wildcard":       {"nats: {domain: x>}\n", []string{`1:16: domain "x>": want a name such as edge, without spaces and . * >`}},
		"domain of a NATS elsewhere":   {"nats: {url: 'nats://hub:4222', domain: \"a\\tb\"}\n", []string{`1:40: domain "a\tb": want a name such as edge, without spaces and . * >`}},
		"inbox":                        {"nats: {inbox_prefix: \"_INBOX.>\"}\n", []string{`1:22: inbox_prefix "_INBOX.>": want a subject such as _INBOX_host, without * and >`}},
		"owner":                        {"nats: {owner: Me}\n", []string{`1:15: owner "Me": want 1 to 63 of a-z, 0-9, _ and -`}},
		"http without a port":          {"http: {listen: localhost}\n", []string{`1:16: listen "localhost": want host:port, such as 127.0.0.1:8080`}},
		"http with a bad port":         {"http: {listen: \"localhost:http\"}\n", []string{`1:16: listen "localhost:http": want host:port, such as 127.0.0.1:8080`}},
		"http for everybody":           {"http: {listen: \":8080\"}\n", []string{`1:16: listen ":8080" is open to other machines; add token:, or listen on 127.0.0.1:8080`}},
		"http for everybody, no token": {"http: {listen: 0.0.0.0:8080, token: \"${UNSET_TOKEN:-}\"}\n", []string{`1:16: listen "0.0.0.0:8080" is open to other machines; add token:, or listen on 127.0.0.1:8080`}},
		"model without a provider":     {"models: {m: {model: x}}\n", []string{`1:13: model "m" has no provider; add provider:`}},
		"unknown provider":             {"models: {m: {provider: opnai}}\n", []string{`1:24: provider "opnai": want openai, anthropic, gemini, scripted or echo; did you mean "openai"?`}},
		"model without a model": {"models: {m: {provider: gemini}, s: {provider: scripted}}\n", []string{
			`1:13: model "m" has no model; add model:`,
			`1:36: model "s" has no script; add script:`,
		}},
		"base urls":             {"models: {m: {provider: openai, model: x, base_url: [http://a, localhost]}}\n", []string{"1:63: base_url: want http://… or https://…"}},
		"no base urls":          {"models: {m: {provider: openai, model: x, base_url: []}}\n", []string{"1:52: base_url: the list is empty; name a server, or leave it out"}},
		"list for one value":    {"models: {m: {provider: openai, model: [x]}}\n", []string{"1:39: model: want text, got a list"}},
		"time limit of nothing": {"models: {m: {provider: openai, model: x, timeouts: {first: 0s}}}\n", []string{`1:60: first: want a duration above 0, got "0s"`}},
		"base url":              {"models: {m: {provider: openai, model: x, base_url: localhost}}\n", []string{"1:52: base_url: want http://… or https://…"}},
		"model without a name":  {"models: {\"\": {provider: echo}}\n", []string{"1:10: a model without a name"}},
		"no id":                 {echoModel + "agents:\n  - description: x\n", []string{"3:5: the agent has no id; add id:"}},
		"bad id":                {echoModel + "agents:\n  - id: Ana B\n", []string{`3:9: agent id "Ana B": want 1 to 63 of a-z, 0-9, _ and -`}},
		"id twice":              {agentA + "  - id: a\n", []string{`4:9: agent id "a" is at c.yaml:3:9 as well; want an id of its own`}},
		"no models":             {"agents: [{id: a}]\n", []string{`1:10: agent "a" names no model; add models:, and model: with the name of one`}},
		"no model of two":       {"models: {m: {provider: echo}, n: {provider: echo}}\nagents: [{id: a}]\n", []string{`2:10: agent "a" names no model; add model: m or n`}},
		"unknown model": {"models: {main: {provider: echo}}\nagents:\n  - {id: a, model: mian}\n  - {id: b, model: [main, other]}\n", []string{
			`3:20: there is no model "mian" in models; did you mean "main"?`,
			`4:27: there is no model "other" in models; want main`,
		}},
		"no model to choose from": {"agents: [{id: a, model: x}]\n", []string{`1:25: there is no model "x" in models; there are none`}},
		"long unknown key":        {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: 1\n", []string{`1:1: unknown key "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; want agents, defaults, fetch, hooks, http, identities, mcp, models, nats, plugins or services`}},
		"merge of nothing":        {agentA + "    session: {<<: }\n", []string{"4:19: want a mapping after <<, got nothing"}},
		"alias as a key":          {agentA + "    description: &k tols\n    *k : [now]\n", []string{`4:18: unknown key "tols"; did you mean "tools"?`}},
		"alias in two places":     {echoModel + "agents:\n  - {id: a, limits: &l {tools: x}}\n  - {id: b, limits: *l}\n", []string{`3:32: tools: want a whole number, got "x"`}},
		"variable in a plugin":    {"plugins: {telegram: {a: {token: \"${UNSET_X}\"}}}\n", []string{"1:33: variable UNSET_X is not set; set it, or give a default with ${UNSET_X:-default}"}},
		"schedules of nothing":    {agentA + "    schedules: [x]\n", []string{"4:17: schedules: want keys and values, got a single value"}},
		"brackets in a name": {"models: {\"x]\": 1, \"[\": {window: x}}\n", []string{
			"1:16: x]: want keys and values, got a single value",
			`1:24: model "[" has no provider; add provider:`,
			`1:33: window: want a whole number, got "x"`,
		}},
		"long value":        {agentA + "    session: {ttl: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}\n", []string{`4:20: ttl: want a duration with its unit, such as 30s or 10m, got "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"`}},
		"models unreadable": {"models: 1\nagents: [{id: a, model: x}]\n", []string{"1:9: models: want names, each with its value, got a single value"}},
		"unknown agents": {agentA + "    delegates: [b, a, \"*\"]\n    accepts: [aa]\n", []string{
			`4:17: there is no agent "b"; did you mean "a"?`,
			`4:20: agent "a" cannot delegate to itself; want another agent`,
			`5:15: there is no agent "aa"; did you mean "a"?`,
		}},
		"id unreadable": {echoModel + "agents:\n  - id: \"${UNSET_ID}\"\n  - {id: b, delegates: [a]}\n", []string{"3:9: variable UNSET_ID is not set; set it, or give a default with ${UNSET_ID:-default}"}},
		"bad tool pattern": {agentA + "    tools: [\"[\"]\n    permissions: {\"[\": ask}\n", []string{
			`4:13: tool "[": want a name or a pattern such as "files.*"`,
			`5:19: tool "[": want a name or a pattern such as "files.*"`,
		}},
		"permission": {agentA + "    permissions: {now: never, write_file: , r*: aks}\n", []string{
			`4:24: now "never": want allow, ask or deny`,
			`4:43: "write_file" has no permission; want allow, ask or deny`,
			`4:49: r* "aks": want allow, ask or deny; did you mean "ask"?`,
		}},
		"queue": {agentA + "    session: {queue: colect}\n    channels: [{channel: x, queue: z}]\n", []string{
			`4:22: queue "colect": want followup, collect, steer or interrupt; did you mean "collect"?`,
			`5:36: queue "z": want followup, collect, steer or interrupt`,
		}},
		"alert": {agentA + "    limits: {budget: {alert: [0.5, 80, 0]}}\n", []string{
			`4:36: alert "80": want a share of the budget above 0 and up to 1, such as 0.8`,
			`4:40: alert "0": want a share of the budget above 0 and up to 1, such as 0.8`,
		}},
		"on_exceed": {agentA + "    limits: {budget: {on_exceed: stop}}\n", []string{`4:34: on_exceed "stop": want fail, ask or warn`}},
		"channel": {agentA + "    channels: [Web, {channel: x, instance: \"a.b\"}, \"\", {instance: y}]\n", []string{
			`4:16: channel "Web": want 1 to 63 of a-z, 0-9, _ and -`,
			`4:44: instance "a.b": want 1 to 63 of a-z, 0-9, _ and -`,
			"4:52: empty channel",
			"4:56: the binding has no channel; add channel:",
		}},
		"bound twice":          {agentA + "    channels:\n      - web\n      - {channel: web}\n", []string{"6:9: duplicate binding (first at c.yaml:5:9); keep one"}},
		"instance next to all": {agentA + "    channels: [{channel: x, instance: y}, x, {channel: x, instance: \"*\"}]\n", []string{"4:46: duplicate binding (first at c.yaml:4:16); keep one"}},
		"debounce":             {agentA + "    channels: [{channel: x, debounce: 1s}]\n", []string{"4:39: debounce with queue followup; want queue: collect"}},
		"schedule without anything": {agentA + "    schedules: [{}]\n", []string{
			"4:17: the schedule has 0 of cron, every, at and window; want one",
			"4:17: the schedule has no name; add name:",
			"4:17: the schedule has no prompt; add prompt:",
		}},
		"schedule with too much": {agentA + "    schedules: [{name: x, cron: \"* * * * *\", every: 1m, prompt: p}]\n", []string{"4:17: the schedule has 2 of cron, every, at and window; want one"}},
		"cron": {agentA + "    schedules:\n      - {name: x, cron: \"* * * *\", prompt: p}\n      - {name: y, cron: \"TZ=UTC * * * * *\", prompt: p}\n      - {name: z, cron: \"0 0 30 2 *\", prompt: p}\n      - {name: w, cron: \"@daily\", prompt: p}\n      - {name: v, cron: \"0 24 * * *\", prompt: p}\n      - {name: u, cron: \"0 0 8 * * Monday\", prompt: p}\n", []string{
			`5:25: cron "* * * *": want five or six fields, such as "0 8 * * 1-5"`,
			`6:25: cron "TZ=UTC * * * * *": a zone in cron; want it as timezone`,
			`7:25: cron "0 0 30 2 *": a day that never comes; want five or six fields, such as "0 8 * * 1-5"`,
			`8:25: cron "@daily": want five or six fields, such as "0 8 * * 1-5"`,
			`9:25: cron "0 24 * * *": there is no hour "24"; want five or six fields, such as "0 8 * * 1-5"`,
			`10:25: cron "0 0 8 * * Monday": there is no day of the week "Monday"; want five or six fields, such as "0 8 * * 1-5"`,
		}},
		"timezone":                  {agentA + "    schedules: [{name: x, cron: \"* * * * *\", timezone: Mars/Olympus, prompt: p}]\n", []string{`4:56: timezone "Mars/Olympus": want an IANA name, such as Europe/Paris`}},
		"every":                     {agentA + "    schedules: [{name: x, every: 1ms, prompt: p}]\n", []string{`4:34: every "1ms": want 1s or more, in whole seconds`}},
		"every and a bit":           {agentA + "    schedules: [{name: x, every: 1500ms, prompt: p}]\n", []string{`4:34: every "1500ms": want 1s or more, in whole seconds`}},
		"at":                        {agentA + "    schedules: [{name: x, at: tomorrow, prompt: p}]\n", []string{`4:31: at "tomorrow": want a time such as "2027-01-31 08:00", in the timezone, or 2027-01-31T08:00:00+01:00`}},
		"window":                    {agentA + "    schedules: [{name: x, window: 8-10, prompt: p}]\n", []string{`4:35: window "8-10": want two times of day, such as "08:00-10:00"`}},
		"missed":                    {agentA + "    schedules: [{name: x, every: 1m, missed: all, prompt: p}]\n", []string{`4:46: missed "all": want once or skip`}},
		"reserved name":             {agentA + "    schedules: [{name: remind-x, every: 1m, prompt: p}]\n", []string{`4:24: schedule "remind-x": that name is taken; want one that is not heartbeat and begins neither with remind- nor with wait-`}},
		"address without recipient": {agentA + "    schedules: [{name: x, every: 1m, prompt: p, to: {channel: web}}]\n", []string{"4:53: the address has no recipient; add chat:, or to: with the id of a person"}},
		"zone of an agent":          {agentA + "    timezone: Local\n", []string{`4:15: timezone "Local": want an IANA name, such as Europe/Paris`}},
		"heartbeat": {agentA + "    heartbeat: {interval: 10ms, watch: [a..b]}\n", []string{
			`4:16: the heartbeat has no prompt; add prompt:, or take out watch and to`,
			`4:27: interval "10ms": want 1s or more, in whole milliseconds`,
			`4:41: watch "a..b": want a subject, such as plugin.inbound.mail or $KV.stock.>`,
		}},
		"event without anything": {agentA + "    events: [{}]\n", []string{
			"4:14: the event has no prompt; add prompt:",
			"4:14: the event has no subject; add subject:",
		}},
		"events": {agentA + "    events:\n      - {subject: plugin.outbound.x, prompt: p}\n      - {subject: agent.events.a.dead, prompt: p}\n      - {subject: orders.>, prompt: \"${a..b}\"}\n      - {subject: orders.>, prompt: p, to: {chat: x}}\n", []string{
			`5:19: subject "plugin.outbound.x": it reaches into plugin.>: messages of plugins come by channels; bind the agent there`,
			`6:19: subject "agent.events.a.dead": an agent does not get its own events; want those of another`,
			"7:37: prompt: \"${a..b}\" is no name; want a path such as ${id} or ${items.0.name}, ${payload}, ${subject} or ${subject.2}",
			`8:19: subject "orders.>" is at c.yaml:7:19 as well; keep one`,
			"8:44: the address has no channel; add channel:",
		}},
		"stale": {agentA + "    channels: [{channel: x, stale: {do: forget}}, {channel: y, stale: {after: 1h}}, {channel: z, stale: {after: 1h, do: drop}}]\n", []string{
			"4:36: stale has no after; add after: with an age such as 1h",
			`4:41: do "forget": want answer, drop or summarise`,
			"4:71: stale has no do; add do: answer, drop or summarise",
		}},
		"shadows": {echoModel + "agents:\n  - {id: a, delegates: [b]}\n  - {id: b, shadow_of: a, channels: [x], events: [], limits: {budget: {on_exceed: ask}}, heartbeat: {enabled: true}}\n  - {id: c, shadow_of: b}\n  - {id: d, shadow_of: d}\n  - {id: e, shadow_of: aa}\n", []string{
			`3:25: agent "b" is a shadow; want one that answers`,
			"4:37: a shadow has no channels of its own; take this out",
			"4:50: a shadow has no events of its own; take this out",
			"4:83: a shadow cannot ask a person; want fail or warn",
			"4:101: a shadow has no heartbeat; take this out",
			`5:24: agent "b" is a shadow itself; want the agent that it shadows`,
			`6:24: agent "d" cannot shadow itself; want another agent`,
			`7:24: there is no agent "aa"; did you mean "a"?`,
		}},
		"schedule twice": {agentA + "    schedules:\n      - {name: x, every: 1m, prompt: p}\n      - {name: x, every: 1m, prompt: p}\n", []string{`6:16: schedule "x" is at c.yaml:5:16 as well; want a name of its own`}},
		"schedule name": {agentA + "    schedules: [{name: Good Morning, every: 1m, prompt: p, to: {chat: x, instance: Y}}]\n", []string{
			`4:24: schedule "Good Morning": want 1 to 63 of a-z, 0-9, _ and -`,
			"4:64: the address has no channel; add channel:",
			`4:84: instance "Y": want 1 to 63 of a-z, 0-9, _ and -`,
		}},
		"mcp": {"mcp: {a: {}, B: {url: ftp://x}, c: {command: [\"\"]}, d: {command: [x], url: \"http://x\"}}\n", []string{
			`1:10: mcp server "a": want one of command and url`,
			`1:14: mcp server "B": want 1 to 63 of a-z, 0-9, _ and -`,
			"1:23: url: want http://… or https://…",
			"1:46: command: want the name of a program first",
			`1:56: mcp server "d": want one of command and url`,
		}},
		"service and server of one name": {"mcp: {x: {command: [a]}}\nservices: {x: {}}\n", []string{`2:12: service "x": there is an mcp.x, and both would have tools named x.…; rename that`}},
		"service":                        {"services: {\"a b\": {}}\n", []string{`1:12: service "a b": want the name of a NATS micro service, of letters, digits, _ and -`}},
		"plugin": {"plugins: {Web: {}, telegram: {Sales: {token: hunter2}}}\n", []string{
			`1:11: unknown key "Web"; did you mean "web"?`,
			`1:31: account "Sales": want 1 to 63 of a-z, 0-9, _ and -`,
		}},
		"hook": {"hooks: [{on: before_mesage, subject: \"a b\", timeout: 0s, fail: shut}, {priority: -1}]\n", []string{
			`1:14: on "before_mesage": want one of before_message, after_message, before_model_call, after_model_call, before_tool_call, after_tool_call, on_session_start, on_session_end, on_error; did you mean "before_message"?`,
			`1:38: subject "a b": want a NATS subject without wildcards, such as acme.moderate`,
			`1:54: timeout: want a duration above 0, got "0s"`,
			`1:64: fail "shut": want open or closed`,
			"1:71: the hook has no on; want one of before_message, after_message, before_model_call, after_model_call, before_tool_call, after_tool_call, on_session_start, on_session_end, on_error",
			"1:71: the hook has no subject; want a NATS subject without wildcards, such as acme.moderate",
		}},
		"hook of hosts": {"hooks: [{on: on_error, subject: plugin.inbound.web}, {on: on_error, subject: agent.dead.ana}, {on: on_error, subject: agenthost.status}, {on: on_error, subject: $JS.API.INFO}, {on: on_error, subject: acme.agent}]\n", []string{
			"1:33: subject \"plugin.inbound.web\": what begins with agenthost., agent., plugin. or $ is of hosts and of NATS; want one of the responder's own, such as acme.moderate",
			"1:78: subject \"agent.dead.ana\": what begins with agenthost., agent., plugin. or $ is of hosts and of NATS; want one of the responder's own, such as acme.moderate",
			"1:119: subject \"agenthost.status\": what begins with agenthost., agent., plugin. or $ is of hosts and of NATS; want one of the responder's own, such as acme.moderate",
			"1:162: subject \"$JS.API.INFO\": what begins with agenthost., agent., plugin. or $ is of hosts and of NATS; want one of the responder's own, such as acme.moderate",
		}},
		"unset variable":    {"http: {token: \"${UNSET_TOKEN}\"}\n", []string{"1:15: variable UNSET_TOKEN is not set; set it, or give a default with ${UNSET_TOKEN:-default}"}},
		"unclosed variable": {"http: {token: \"${UNSET\"}\n", []string{"1:15: ${ without its }; want ${NAME}, or $${ for the two characters themselves"}},
		"not a variable":    {"http: {token: \"${a.b}\"}\n", []string{"1:15: not the name of a variable between ${ and }; want ${NAME}, ${NAME:-default} or ${file:path}, or $${ for the two characters themselves"}},
		"file above":        {"http: {token: \"${file:../x}\"}\n", []string{"1:15: ${file:../x} is not a path without ..; want one below the folder of the configuration, $AGENTHOST_SECRETS or /run/secrets"}},
		"file not there":    {"http: {token: \"${file:/etc/passwd}\"}\n", []string{"1:15: ${file:/etc/passwd} is not there; want a file below the folder of the configuration, $AGENTHOST_SECRETS or /run/secrets"}},
		"file is a folder":  {"http: {token: \"${file:testdata}\"}\n", []string{"1:15: ${file:testdata}: cannot be read: is a directory"}},
		"variable where it does not fit": {agentA + "    heartbeat: {enabled: \"${SECRET}\"}\n    session: {ttl: \"${SECRET}\", queue: \"${SECRET}\"}\n    model: ${SECRET}\n", []string{
			`4:26: enabled: want true or false, got "${SECRET}"`,
			`5:20: ttl: want a duration with its unit, such as 30s or 10m, got "${SECRET}"`,
			`5:40: queue "${SECRET}": want followup, collect, steer or interrupt`,
			`6:12: there is no model "${SECRET}" in models; want m`,
		}},
		"many at once": {echoModel + "nats: {lanes: 0}\nagents:\n  - {id: A, modl: m}\n  - {id: b, session: {ttl: 5}}\nhooks: [{on: x, subject: y}]\n", []string{
			`2:15: lanes "0": want 1 to 64`,
			`4:10: agent id "A": want 1 to 63 of a-z, 0-9, _ and -`,
			`4:13: unknown key "modl"; did you mean "model"?`,
			`5:28: ttl: want a duration with its unit, such as 30s or 10m, got "5"`,
			`6:14: on "x": want one of before_message, after_message, before_model_call, after_model_call, before_tool_call, after_tool_call, on_session_start, on_session_end, on_error`,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("c.yaml", []byte(tt.text))
			got := problems(t, err)
			for i := range got {
				got[i] = strings.TrimSpace(strings.TrimPrefix(got[i], "c.yaml:"))
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("a secret is in the message")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s\nall:\n%s", diff, strings.Join(got, "\n"))
			}
		})
	}
}
