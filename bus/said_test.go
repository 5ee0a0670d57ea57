package bus

import "testing"

func TestSaid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ subject, text, want string }{
		{"", "Subject: hi\n\nyes", "Subject: hi\n\nyes"}, // of no mail
		{"hi", "Subject: hi\n\nyes", "yes"},
		{"approve", "Subject: approve", "approve"},
		{"hi", "yes", "yes"}, // an answer in a thread
		{"hi", "Subject: hint", "Subject: hint"},
		{"hi", "Subject: hi there\n\nyes", "Subject: hi there\n\nyes"},
	} {
		in := Inbound{Text: tt.text}
		if tt.subject != "" {
			in.Meta = map[string]any{MetaSubject: tt.subject}
		}
		if got := in.Said(); got != tt.want {
			t.Errorf("%q with the subject %q says %q, want %q", tt.text, tt.subject, got, tt.want)
		}
	}
	if in := (&Inbound{Text: "x", Meta: map[string]any{MetaSubject: 7}}); in.Said() != "x" {
		t.Errorf("a subject that is no text: %q", in.Said())
	}
}
