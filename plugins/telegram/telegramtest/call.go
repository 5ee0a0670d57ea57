package telegramtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// readCall reads the parameters of a call, which come in four forms.
func readCall(r *http.Request, method string) (Call, error) {
	c := Call{Method: method, Params: map[string]any{}}
	set := func(values url.Values) {
		for name := range values {
			c.Params[name] = values.Get(name)
		}
	}
	set(r.URL.Query())
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		body, err := io.ReadAll(r.Body)
		if err != nil || len(strings.TrimSpace(string(body))) == 0 || string(body) == "null" {
			return c, err
		}
		return c, json.Unmarshal(body, &c.Params)
	case "multipart/form-data":
		return c, readForm(r, &c)
	case "application/x-www-form-urlencoded":
		err := r.ParseForm()
		set(r.PostForm)
		return c, err
	}
	return c, nil
}

// readForm reads a call with a file. A parameter may name its part: attach://<part>.
func readForm(r *http.Request, c *Call) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return err
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if part.FileName() == "" {
			c.Params[part.FormName()] = string(data)
			continue
		}
		c.File = &File{Kind: part.FormName(), Name: part.FileName(), MIME: part.Header.Get("Content-Type"), Data: data}
	}
}

// Text is a parameter as text.
func (c Call) Text(name string) string {
	switch v := c.Params[name].(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// Number is a parameter as a number.
func (c Call) Number(name string) int64 {
	n, _ := strconv.ParseInt(c.Text(name), 10, 64)
	return n
}

// decode reads a parameter that is JSON, which may come as text.
func (c Call) decode(name string, into any) {
	data, isText := c.Params[name].(string)
	if !isText {
		encoded, err := json.Marshal(c.Params[name])
		if err != nil {
			return
		}
		data = string(encoded)
	}
	_ = json.Unmarshal([]byte(data), into)
}
