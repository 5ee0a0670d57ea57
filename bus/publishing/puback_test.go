package publishing_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/publishing"

	"github.com/nats-io/nats.go/jetstream"
)

// plainAcks are acknowledgements that need no encoding/json.
var plainAcks = map[string]publishing.Ack{
	`{"stream":"S","seq":1}`:                                                 {1, false},
	`{"stream":"AGENT_SESSIONS","seq":90}`:                                   {90, false},
	`{"stream":"S","seq":18446744073709551615}`:                              {1<<64 - 1, false},
	`{"stream":"S","seq":7,"duplicate": true}`:                               {7, true},
	`{"stream":"Größe","domain":"edge","seq":8}`:                             {8, false},
	`{"stream":"S","domain":"a.b","seq":1234567890,"duplicate": true}`:       {1234567890, true},
	`{"stream":"` + strings.Repeat("x", 255) + `","domain":"edge","seq":10}`: {10, false},
}

// otherAnswers need it, or are none.
var otherAnswers = []string{
	``, `{}`, `null`, `{`, `+OK`, `{"stream":"S"}`, `{"stream":"","seq":1}`, `{"stream":"S","seq":}`, `{"stream":"S","seq":1`,
	`{"stream":"S","seq":01}`, `{"stream":"S","seq":-1}`, `{"stream":"S","seq":1e3}`, `{"stream":"S","seq":1_0}`, `{"stream":"S","seq":0x1}`,
	`{"stream":"S","seq":18446744073709551616}`, `{"stream":"S","seq":"1"}`, `{"stream":"S","seq":1}}`, `{"stream":"S","seq":1} `,
	`{"stream":"a\"b","seq":1}`, `{"stream":"\u0041","seq":1}`, "{\"stream\":\"a\nb\",\"seq\":1}", `{"stream":"S","domain":"","seq":1}`,
	`{"stream":"S","domain":"\n","seq":2}`, `{"stream": "S", "seq": 3}`, `{"seq":4,"stream":"S"}`, `{"stream":"S","seq":5,"duplicate":true}`,
	`{"stream":"S","seq":6,"val":"12"}`, `{"stream":"S","seq":7,"duplicate": true,"batch":"b","count":2}`, `{"stream":"S","seq":8,"stream":""}`,
	`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 3"},"stream":"S","seq":0}`,
	`{"type":"x","error":{"code":503,"err_code":10008,"description":"no leader"}}`, `{"error":null,"stream":"S","seq":9}`,
}

// wantSameAck checks that the short way says nothing that the long one does not.
func wantSameAck(t *testing.T, data []byte) {
	t.Helper()
	got, ok := publishing.PlainAck(data)
	if !ok {
		return
	}
	if want, err := publishing.DecodeAck(data); err != nil || got != want {
		t.Errorf("%q: got %v, want %v, %v", data, got, want, err)
	}
}

func TestPlainAck(t *testing.T) {
	t.Parallel()
	for data, want := range plainAcks {
		if got, ok := publishing.PlainAck([]byte(data)); got != want || !ok {
			t.Errorf("%s: got %v, %t, want %v", data, got, ok, want)
		}
		wantSameAck(t, []byte(data))
	}
	for _, data := range otherAnswers {
		if got, ok := publishing.PlainAck([]byte(data)); ok {
			t.Errorf("%q: got %v, want it to be left to encoding/json", data, got)
		}
	}
}

func FuzzPlainAck(f *testing.F) {
	for data := range plainAcks {
		f.Add([]byte(data))
	}
	for _, data := range otherAnswers {
		f.Add([]byte(data))
	}
	f.Fuzz(wantSameAck)
}

func TestDecodeAck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data string
		seq  uint64
		code jetstream.ErrorCode // of an API error
		err  error
	}{
		"spaced":    {`{"stream": "S", "seq": 3}`, 3, 0, nil},
		"a counter": {`{"stream":"S","seq":6,"val":"12"}`, 6, 0, nil},
		"refused":   {`{"error":{"code":400,"err_code":10071,"description":"no"},"stream":"S","seq":0}`, 0, 10071, nil},
		"no leader": {`{"error":{"code":503,"err_code":10008,"description":"no"}}`, 0, 10008, nil},
		"no stream": {`{"seq":1}`, 0, 0, jetstream.ErrInvalidJSAck},
		"no object": {`[]`, 0, 0, jetstream.ErrInvalidJSAck},
		"null":      {`null`, 0, 0, jetstream.ErrInvalidJSAck},
		"not JSON":  {`+OK`, 0, 0, jetstream.ErrInvalidJSAck},
		"empty":     {``, 0, 0, jetstream.ErrInvalidJSAck},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := publishing.DecodeAck([]byte(tt.data))
			var code jetstream.ErrorCode
			if api, ok := errors.AsType[*jetstream.APIError](err); ok {
				code, err = api.ErrorCode, nil
			}
			if got.Seq != tt.seq || code != tt.code || !errors.Is(err, tt.err) {
				t.Errorf("got %d, code %d, %v, want %d, %d, %v", got.Seq, code, err, tt.seq, tt.code, tt.err)
			}
		})
	}
}

// What the server of today says takes the short way: when this fails, nothing
// is broken but what publishing costs.
func TestPlainAckIsWhatTheServerWrites(t *testing.T) {
	t.Parallel()
	for _, domain := range []string{"", "edge"} {
		t.Run("domain "+domain, func(t *testing.T) {
			cfg := bustest.Config(t)
			if cfg.Domain = domain; domain != "" {
				cfg.Embedded.Config = bustest.WriteFile(t, "nats.conf", "jetstream { domain: "+domain+" }\n")
			}
			b := bustest.OpenConfig(t, cfg)
			bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Duplicates: time.Minute})
			for _, duplicate := range []bool{false, true} {
				answer, err := b.NC.RequestMsgWithContext(t.Context(), message("s", "1"))
				if err != nil {
					t.Fatal(err)
				}
				if got, ok := publishing.PlainAck(answer.Data); got != (publishing.Ack{Seq: 1, Duplicate: duplicate}) || !ok {
					t.Errorf("got %v, %t for %s", got, ok, answer.Data)
				}
			}
		})
	}
}
