package bus

import (
	"encoding/json"
	"strconv"

	"agenthost/fastjson"
)

// AppendJSON appends out as encoding/json writes it, byte for byte, and leaves
// to that what few have. A host does this for every answer.
func (out *Outbound) AppendJSON(b []byte) ([]byte, error) {
	if len(out.Media) > 0 || len(out.Merged) > 0 || len(out.Options) > 0 || out.Error != nil {
		data, err := json.Marshal(out)
		return append(b, data...), err
	}
	b = fastjson.AppendString(append(b, `{"id":`...), out.ID)
	b = fastjson.AppendString(append(b, `,"agent":`...), out.Agent)
	b = fastjson.AppendString(append(b, `,"session":`...), out.Session)
	b = fastjson.AppendString(append(b, `,"run":`...), out.Run)
	b = fastjson.AppendString(append(b, `,"kind":`...), out.Kind)
	b = appendText(b, `,"to":`, out.To)
	b = appendText(b, `,"chat":`, out.Chat)
	b = appendText(b, `,"thread":`, out.Thread)
	b = fastjson.AppendString(append(b, `,"text":`...), out.Text)
	b = appendText(b, `,"in_reply_to":`, out.InReplyTo)
	if out.Cut {
		b = append(b, `,"cut":true`...)
	}
	b = strconv.AppendBool(append(b, `,"final":`...), out.Final)
	b = appendText(b, `,"call":`, out.Call)
	b, err := out.SentAt.AppendText(append(b, `,"sent_at":"`...))
	return append(b, `"}`...), err
}

// appendText appends a field that is left out when it is empty.
func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return fastjson.AppendString(append(b, key...), s)
}
