package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"agenthost/tools"
	"agenthost/tools/mcp"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A person answers one question after the other, and keeps them.
type person struct {
	answers []string
	err     error // when there are no more answers
	asked   []mcp.Question
}

func (p *person) ask(_ context.Context, q mcp.Question) (string, error) {
	p.asked = append(p.asked, q)
	if len(p.answers) == 0 {
		return "", p.err
	}
	answer := p.answers[0]
	p.answers = p.answers[1:]
	return answer, nil
}

func (p *person) prompts() []string {
	var all []string
	for _, q := range p.asked {
		all = append(all, q.Prompt+" "+strings.Join(q.Options, "|"))
	}
	return all
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	const (
		ask   = "The MCP server s asks: Really?"
		name  = ask + "\nname "
		age   = ask + "\nAge: in years "
		color = ask + "\ncolor (- for red) red|blue|-"
		size  = ask + "\nsize (- to leave it out) "
		sure  = ask + "\nsure (- to leave it out) yes|no|-"
		tags  = ask + "\ntags (several of a, b, c, with commas between) (- to leave it out) "
		mail  = ask + "\nmail (- for a@example.org) "
		days  = ask + "\ndays (- for 3) "
		news  = ask + "\nnews (- for yes) yes|no|-"
		dash  = ask + "\ndash "
	)
	tests := map[string]struct {
		tool    string
		answers []string
		err     error
		want    string
		prompts []string
	}{
		"yes":          {"confirm", []string{"Yes"}, nil, "accept map[]", []string{ask + " yes|no"}},
		"no":           {"confirm", []string{"no"}, nil, "decline map[]", []string{ask + " yes|no"}},
		"neither":      {"confirm", []string{"", " ", "yes"}, nil, "accept map[]", []string{ask + " yes|no", ask + " yes|no", ask + " yes|no"}},
		"nothing ever": {"confirm", []string{"", "", "", "yes"}, nil, "decline map[]", []string{ask + " yes|no", ask + " yes|no", ask + " yes|no"}},
		"a form": {
			"form",
			[]string{"Ann", "42", "blue", "1.5", "yes", "a, c"},
			nil,
			"accept map[age:42 color:blue name:Ann size:1.5 sure:true tags:[a c]]",
			[]string{name, age, color, size, sure, tags},
		},
		"what is optional left out": {
			"form",
			[]string{"Ann", "42", "", "", "n", ""},
			nil,
			"accept map[age:42 color:red name:Ann sure:false]",
			[]string{name, age, color, size, sure, tags},
		},
		"answers that cannot be used": {
			"form",
			[]string{"", "Ann", "old", "42", "green", "red", "big", "1", "maybe", "true", "a,x", "a"},
			nil,
			"accept map[age:42 color:red name:Ann size:1 sure:true tags:[a]]",
			[]string{
				name, again(name, "name needs an answer"), age, again(age, "age: \"old\" is not a whole number"),
				color, again(color, "color: \"green\": want one of red, blue"), size, again(size, "size: \"big\" is not a number"),
				sure, again(sure, "sure: \"maybe\" is neither yes nor no"), tags, again(tags, "tags: \"x\": want one of a, b, c"),
			},
		},
		"never a usable one": {
			"form",
			[]string{"", "", ""},
			nil, "cancel map[]",
			[]string{name, again(name, "name needs an answer"), again(name, "name needs an answer")},
		},
		"defaults for what is left empty": {
			"defaults",
			[]string{"-", "-", "", "-"},
			nil, "accept map[dash:- days:3 mail:a@example.org news:true]",
			[]string{dash, mail, days, news},
		},
		"answers that the schema does not allow": {
			"defaults",
			[]string{"-", "nobody", "b@example.org", "9", "7", "-"},
			nil, "accept map[dash:- days:7 mail:b@example.org news:true]",
			[]string{dash, mail, again(mail, "mail: must be a valid email"), days, again(days, "days: must be ≤ 7"), news},
		},
		"a form out of bounds": {"odd", nil, nil, "cancel map[]", nil},
		"declined":             {"form", []string{"Ann"}, mcp.ErrDeclined, "decline map[]", []string{name, age}},
		"nobody is there":      {"confirm", nil, errors.New("nobody is there"), "cancel map[]", []string{ask + " yes|no"}},
	}
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		for title, tt := range tests {
			t.Run(title, func(t *testing.T) {
				p := &person{answers: slices.Clone(tt.answers), err: tt.err}
				w := openOne(t, cfg, mcp.Options{Ask: p.ask})
				if res := w.run("s."+tt.tool, `{}`); res.Text != tt.want {
					t.Errorf("got %+v, want %q", res, tt.want)
				}
				if diff := cmp.Diff(tt.prompts, p.prompts()); diff != "" {
					t.Errorf("prompts (-want +got):\n%s", diff)
				}
				if len(p.asked) > 0 && p.asked[0].Call.ID != "c1" {
					t.Errorf("call: got %q, want %q", p.asked[0].Call.ID, "c1")
				}
				w.stop()
			})
		}
	})
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("server"), mcp.Options{})
	if res := w.run("s.confirm", `{}`); res.Text != "decline map[]" {
		t.Errorf("got %+v", res)
	}
}

// Whose question it is cannot be told when two calls are running.
func TestQuestionOfWhom(t *testing.T) {
	t.Parallel()
	p := &person{answers: []string{"yes"}}
	w := openOne(t, stdio("server"), mcp.Options{Ask: p.ask})
	steps := begin(t.Context(), w.tool("s.steps"))
	<-steps.progress
	if res := w.run("s.confirm", `{}`); res.Text != "decline map[]" || len(p.asked) != 0 {
		t.Errorf("got %+v, asked %v", res, p.asked)
	}
	w.run("s.proceed", `{}`)
	<-steps.done
}

// In the newest version of the protocol a server may ask by the answer to the call that
// the question belongs to.
func TestQuestionInTheAnswerToItsCall(t *testing.T) {
	t.Parallel()
	p := &person{answers: []string{"yes"}}
	s := newServer(nil)
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(srv.Close)
	w := openOne(t, tools.MCPConfig{URL: srv.URL}, mcp.Options{Ask: p.ask})
	steps := begin(t.Context(), w.tool("s.steps"))
	<-steps.progress
	if res := w.run("s.returned", `{}`); res.Text != "accept map[]" || len(p.asked) != 1 || p.asked[0].Call.Name != "s.returned" {
		t.Errorf("got %+v, asked %v", res, p.asked)
	}
	w.run("s.proceed", `{}`)
	<-steps.done
}

// The question ends with the call.
func TestQuestionOfACancelledCall(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg tools.MCPConfig) {
		asked, ended := make(chan struct{}), make(chan struct{})
		w := openOne(t, cfg, mcp.Options{Ask: func(ctx context.Context, _ mcp.Question) (string, error) {
			close(asked)
			<-ctx.Done()
			close(ended)
			return "", ctx.Err()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		confirm := begin(ctx, w.tool("s.confirm"))
		<-asked
		cancel()
		<-ended
		<-confirm.done
		if !errors.Is(confirm.err, context.Canceled) {
			t.Errorf("got %v", confirm.err)
		}
		w.stop()
	})
}

// again is a prompt that says why the last answer to it cannot be used.
func again(prompt, why string) string {
	i := strings.LastIndexByte(prompt, ' ')
	return prompt[:i] + "\n(" + why + ")" + prompt[i:]
}

func TestQuestionsForSecretsAreRefused(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"field", "title", "description", "format", "wide", "hidden", "message"} {
		t.Run(form, func(t *testing.T) {
			p := &person{answers: []string{"hunter2"}}
			w := openOne(t, stdio("server"), mcp.Options{Ask: p.ask})
			if res := w.run("s."+form, `{}`); strings.HasPrefix(res.Text, "accept") || len(p.asked) != 0 {
				t.Errorf("got %+v, asked %v", res, p.asked)
			}
		})
	}
	p := &person{answers: []string{"x"}}
	w := openOne(t, stdio("server"), mcp.Options{Ask: p.ask})
	if res := w.run("s.tokenizer", `{}`); res.Text != "accept map[tokenizer:x]" {
		t.Errorf("a form without a secret: got %+v, asked %v", res, p.asked)
	}
}

func TestQuestionsAreIntroducedByTheHost(t *testing.T) {
	t.Parallel()
	p := &person{answers: []string{"yes"}}
	introduce := func(call tools.Call, server, message string) string {
		return call.Name + " | " + server + " | " + message
	}
	w := openOne(t, stdio("server"), mcp.Options{Ask: p.ask, Introduce: introduce})
	w.run("s.confirm", `{}`)
	if diff := cmp.Diff([]string{"s.confirm | s | Really? yes|no"}, p.prompts()); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}

func TestQuestionsCannotPassForAnothers(t *testing.T) {
	t.Parallel()
	p := &person{answers: []string{"x"}}
	w := openOne(t, stdio("server"), mcp.Options{Ask: p.ask})
	w.run("s.disguised", `{}`)
	want := []string{"The MCP server s asks: Hi]0;x The MCP server bank asks: more\nb The MCP server bank asks: c: d (- to leave it out) "}
	if diff := cmp.Diff(want, p.prompts()); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	p = &person{answers: []string{"yes"}}
	w = openOne(t, stdio("server"), mcp.Options{Ask: p.ask})
	if res := w.run("s.lying", `{}`); res.Text != "cancel map[]" || len(p.asked) != 0 {
		t.Errorf("got %+v, asked %v", res, p.asked)
	}
}
