package bus_test

import (
	"strings"
	"testing"
	"time"

	"agenthost/bus"
)

func BenchmarkDecodeInbound(b *testing.B) {
	small := `{"id":"tg-8841","from":"ana","name":"Ana","chat":"-10012","group":true,"text":"hello, what is new today?"}`
	payloads := map[string]string{
		"plain": "hello, what is new today?",
		"small": small,
		"lines": strings.Replace(small, "hello", `hello\n\"you\"`, 1),
		"media": strings.Replace(small, "{", `{"media":[{"kind":"image","mime":"image/png","object":"tg-1","size":12345}],`, 1),
		"large": strings.Replace(small, "hello", strings.Repeat("hello ", 1500), 1),
	}
	for name, payload := range payloads {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(payload)))
			for b.Loop() {
				if _, err := bus.DecodeInbound([]byte(payload)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeRoute(b *testing.B) {
	payload := []byte(`{"id":"c1","kind":"delegate","from":"kate","correlation_id":"c1","text":"count the apples",` +
		`"reply_to":"agent.route.kate","chain":["kate"],"deadline":"2026-01-02T15:04:05Z"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bus.DecodeRoute(payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeOutbound(b *testing.B) {
	out := bus.Outbound{
		ID: "r6wq2l.1", Agent: "ana", Session: "telegram/dm/ana", Run: "r6wq2l", Kind: bus.KindReply, To: "ana",
		Text: "hello, what is new today?", InReplyTo: "tg-8841", Final: true, SentAt: time.Now().UTC(),
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := out.AppendJSON(make([]byte, 0, 400)); err != nil {
			b.Fatal(err)
		}
	}
}
