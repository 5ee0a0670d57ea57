package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"agenthost/llm"
)

// fetchMost bounds what is read of a list of models; those of gateways with
// hundreds of them are about a megabyte.
const fetchMost = 16 << 20

// fetch reads the JSON that a provider's server answers r with into v. failed
// is the error of an answer whose status is not 2xx.
func fetch(client *http.Client, r *http.Request, v any, failed func(*http.Response) error) error {
	res, err := client.Do(r)
	if err != nil {
		return llm.Unavailable(err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode/100 == 3:
		return llm.StatusError(res.StatusCode, res.Header, fmt.Errorf("it redirects to %s", place(res.Header.Get("Location"))))
	case res.StatusCode/100 != 2:
		return failed(res)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, fetchMost))
	if err != nil {
		return llm.Unavailable(err)
	}
	if json.Unmarshal(data, v) != nil {
		return &llm.Error{Code: llm.CodeProviderUnavailable, Status: res.StatusCode, Err: llm.ErrForeign}
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
