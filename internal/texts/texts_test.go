package texts_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"agenthost/internal/texts"
)

// Every language says everything that English says, with the same placeholders.
func TestEveryLanguageHasEverySentence(t *testing.T) {
	t.Parallel()
	for _, language := range texts.Languages() {
		for _, key := range texts.Keys() {
			text, english := texts.Of(language, key), texts.Of("en", key)
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: %s is missing", language, key)
			}
			if got, want := texts.Placeholders(text), texts.Placeholders(english); !slices.Equal(got, want) {
				t.Errorf("%s: %s has the placeholders %q, want %q", language, key, got, want)
			}
			if language != "en" && text == english && len(texts.Placeholders(text)) == 0 && len(text) > 12 {
				t.Errorf("%s: %s is in English: %s", language, key, text)
			}
		}
		if n := texts.Count(language); n != len(texts.Keys()) {
			t.Errorf("%s has %d sentences, want %d: one has a key that English lacks", language, n, len(texts.Keys()))
		}
	}
}

// There are the ten that the docs name, and no two of them say the same.
func TestThereAreTenLanguages(t *testing.T) {
	t.Parallel()
	want := []string{"en", "de", "fr", "es", "pt", "it", "nl", "pl", "ja", "zh"}
	if got := texts.Languages(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	said := map[string]string{}
	for _, language := range want {
		if texts.Base(language) != language {
			t.Errorf("an agent cannot have %s", language)
		}
		text := texts.New(language, nil).Say("nothing_to_stop")
		if other, twice := said[text]; twice {
			t.Errorf("%s and %s both say %q", language, other, text)
		}
		said[text] = language
	}
}

func TestOrdersStayAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	for _, language := range texts.Languages() {
		help := texts.Of(language, "help") + texts.Of(language, "help_remind")
		for _, order := range []string{"/help", "/new", "/stop", "/remind"} {
			if !strings.Contains(help, order) {
				t.Errorf("%s: the help lacks %s", language, order)
			}
		}
		for _, key := range []string{"approval_reply", "approval_reply_numbered", "not_an_approval"} {
			text := texts.Of(language, key)
			if !strings.Contains(text, "approve") || !strings.Contains(text, "deny") {
				t.Errorf("%s: %s does not name approve and deny: %s", language, key, text)
			}
		}
	}
}

func TestBook(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		book texts.Book
		want string
	}{
		"zero":            {texts.Book{}, "Stopped."},
		"English":         {texts.New("en", nil), "Stopped."},
		"German":          {texts.New("de", nil), texts.Of("de", "stopped")},
		"with a region":   {texts.New("pt-BR", nil), texts.Of("pt", "stopped")},
		"not translated":  {texts.New("eo", nil), "Stopped."},
		"its own":         {texts.New("de", map[string]string{"stopped": "Schluss."}), "Schluss."},
		"its own, others": {texts.New("de", map[string]string{"help": "x"}), texts.Of("de", "stopped")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.book.Say("stopped"); got != tt.want {
				t.Errorf("said %q, want %q", got, tt.want)
			}
		})
	}
}

// What is put in place of a placeholder is not looked through for others.
func TestValuesAreNotTemplates(t *testing.T) {
	t.Parallel()
	got := texts.Book{}.Say("approval_write", "agent", "{path}", "path", "{size}", "size", "{agent}")
	if want := "{path} wants to write {size} ({agent})."; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	words := texts.New("de", nil).Words("yes")
	for _, want := range []string{"ja", "yes", "ok"} {
		if !slices.Contains(words, want) {
			t.Errorf("yes in German is %q, want %s among it", words, want)
		}
	}
}

// A key that is there twice has a sentence that nothing says.
func TestKeysAreThereOnce(t *testing.T) {
	t.Parallel()
	for _, language := range texts.Languages() {
		data, err := os.ReadFile("catalogue/" + language + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if n, want := bytes.Count(data, []byte(`": "`)), len(texts.Keys()); n != want {
			t.Errorf("%s has %d sentences under %d keys", language, n, want)
		}
	}
}

// docs/texts.md lists every key with its English sentence.
func TestKeysAreInTheDocs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/texts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range texts.Keys() {
		row := "| `" + key + "` | " + strings.ReplaceAll(texts.Of("en", key), "\n", "<br>") + " |\n"
		if !strings.Contains(string(data), row) {
			t.Errorf("docs/texts.md lacks %s", row)
		}
	}
}
