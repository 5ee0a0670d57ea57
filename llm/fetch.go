package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// fetchMost bounds what is read of a list of models; those of gateways with
// hundreds of them are about a megabyte.
const fetchMost = 16 << 20

// ErrForeign is the cause of an Error when a server answers well, but not as
// the API does.
var ErrForeign = errors.New("server answers with something that is not of this API; is base_url right?")

// Fetch reads the JSON that a provider's server answers r with into v. failed
// is the error of an answer that is none of 2xx.
func Fetch(client *http.Client, r *http.Request, v any, failed func(*http.Response) error) error {
	res, err := client.Do(r)
	if err != nil {
		return Unavailable(err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode/100 == 3:
		return StatusError(res.StatusCode, res.Header, fmt.Errorf("it redirects to %s", place(res.Header.Get("Location"))))
	case res.StatusCode/100 != 2:
		return failed(res)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, fetchMost))
	if err != nil {
		return Unavailable(err)
	}
	if json.Unmarshal(data, v) != nil {
		return &Error{Code: CodeProviderUnavailable, Status: res.StatusCode, Err: ErrForeign}
	}
	return nil
}

// place is where a redirect leads, without what may be secret in it.
func place(location string) string {
	u, err := url.Parse(location)
	if err != nil || location == "" {
		return "nowhere"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
