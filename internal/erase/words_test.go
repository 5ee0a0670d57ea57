package erase

import "testing"

func TestWords(t *testing.T) {
	t.Parallel()
	var w words
	w.add("ana")
	w.add("ana lind")
	w.add(`say "hi"`)
	w.add("李小龍")
	w.add("a") // too short to be looked for
	for text, want := range map[string]string{
		"ana":                      "[erased]",
		"banana and Ana":           "banana and Ana",
		"ana lind, ana!":           "[erased], [erased]!",
		"anas":                     "anas",
		`{"t":"say \"hi\""}`:       `{"t":"[erased]"}`,
		"我是李小龍嗎":                   "我是[erased]嗎",
		"a":                        "a",
		"":                         "",
		"x ana":                    "x [erased]",
		"[erased] has written ana": "[erased] has written [erased]",
	} {
		if got := w.replace(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// What is short others say as well; a line and a sentence of a long text are as telling as it is.
func TestWordsOfAText(t *testing.T) {
	t.Parallel()
	var w words
	w.addText("Good morning.\nMy sister lives in Turku. Yes!")
	for text, want := range map[string]string{
		"Good morning. Yes!":                      "Good morning. Yes!",
		"You said: My sister lives in Turku, so?": "You said: [erased], so?",
	} {
		if got := w.replace(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	var names words
	for _, name := range []string{"42", "123456", "anonymous", "bo", "Bo Lind"} {
		names.addName(name)
	}
	if got, want := names.replace("42 of 123456 anonymous, bo and Bo Lind"), "42 of [erased] anonymous, bo and [erased]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What others have said as well is not looked for.
func TestWordsThatOthersShare(t *testing.T) {
	t.Parallel()
	var w words
	w.addText("My sister lives in Turku. Good morning to you all!\nSay \"hi\" to the others")
	w.share("Good morning to you all!")
	w.share(`He said: My sister lives in Turku`) // that is a quote
	w.share(`Say "hi" to the others`)
	for text, want := range map[string]string{
		"Good morning to you all!":               "Good morning to you all!",
		"My sister lives in Turku":               "[erased]",
		`"Say \"hi\" to the others"`:             `"Say \"hi\" to the others"`,
		"So: My sister lives in Turku, she said": "So: [erased], she said",
	} {
		if got := w.replace(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("hello ana", "ana")
	f.Add("我是李小龍嗎", "李小龍")
	f.Fuzz(func(t *testing.T, text, word string) {
		var w words
		w.add(word)
		once := w.replace(text)
		if twice := w.replace(once); twice != once && !w.known["[erased]"] && len(word) > 8 {
			t.Errorf("%q in %q: %q, then %q", word, text, once, twice)
		}
	})
}
