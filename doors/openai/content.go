package openai

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// A file is an attachment of a message: data, or where it is.
type file struct {
	kind, mime, name string
	data             []byte
	url              string
}

// A content is a text, or a list of parts, or null.
type content struct {
	text  string
	parts []part
}

// A part is one piece of a message, of either API.
type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"` // chat completions: an object with url; responses: a text
	File     *struct {
		Data string `json:"file_data"`
		Name string `json:"filename"`
	} `json:"file"`
	FileData string `json:"file_data"`
	FileName string `json:"filename"`
	FileURL  string `json:"file_url"`
}

// UnmarshalJSON reads any of the three, in place of what was read before.
func (c *content) UnmarshalJSON(data []byte) error {
	*c = content{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &c.text)
	}
	return json.Unmarshal(data, &c.parts)
}

// read takes a content apart; param is where it is in the request.
func (c content) read(param string) (text string, files []file, err error) {
	texts := []string{}
	if c.text != "" {
		texts = append(texts, c.text)
	}
	for _, p := range c.parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			texts = append(texts, p.Text)
		case "refusal":
			texts = append(texts, p.Refusal)
		case "image_url", "input_image":
			f, err := p.image(param)
			if err != nil {
				return "", nil, err
			}
			files = append(files, f)
		case "file", "input_file":
			f, err := p.document(param)
			if err != nil {
				return "", nil, err
			}
			files = append(files, f)
		default:
			return "", nil, badRequest(param, "parts of the type "+quoted(p.Type)+" are not taken here; send text, images or files")
		}
	}
	return strings.Join(texts, "\n"), files, nil
}

func (p part) image(param string) (file, error) {
	address := ""
	object := struct {
		URL string `json:"url"`
	}{}
	if json.Unmarshal(p.ImageURL, &address) != nil && json.Unmarshal(p.ImageURL, &object) == nil {
		address = object.URL
	}
	return fileAt(address, "", "image", param)
}

func (p part) document(param string) (file, error) {
	data, name := p.FileData, p.FileName
	if p.File != nil {
		data, name = p.File.Data, p.File.Name
	}
	switch {
	case p.FileURL != "":
		return fileAt(p.FileURL, name, "file", param)
	case data == "":
		return file{}, badRequest(param, "a file without file_data: uploads (file_id) are not served here")
	case !strings.HasPrefix(data, "data:"): // the bare base64
		data = "data:" + mime.TypeByExtension(name[max(0, strings.LastIndexByte(name, '.')):]) + ";base64," + data
	}
	return fileAt(data, name, "file", param)
}

// fileAt is the file of a data: URL, or the one that a web address leads to.
func fileAt(address, name, kind, param string) (file, error) {
	f := file{kind: kind, name: name}
	if rest, ok := strings.CutPrefix(address, "data:"); ok {
		head, body, ok := strings.Cut(rest, ",")
		kept, isBase64 := strings.CutSuffix(head, ";base64")
		data, err := base64.StdEncoding.DecodeString(body)
		if !ok || !isBase64 || err != nil || len(data) == 0 {
			return f, badRequest(param, "a data: URL that holds no base64")
		}
		f.data, f.mime = data, http.DetectContentType(data)
		if typ, _, err := mime.ParseMediaType(kept); err == nil {
			f.mime = typ
		}
		if strings.HasPrefix(f.mime, "image/") {
			f.kind = "image"
		}
		return f, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return f, badRequest(param, "an address that is neither http, https nor a data: URL")
	}
	f.url = address
	return f, nil
}
