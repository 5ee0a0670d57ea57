package settings

import "encoding/json"

// MarshalJSON writes the program's own channels beside the others.
func (p Plugins) MarshalJSON() ([]byte, error) {
	type plain Plugins
	return flat(plain(p), p.Own)
}

// MarshalJSON writes the settings beside what every account may say.
func (o Own) MarshalJSON() ([]byte, error) { return flat(o.Account, o.Settings) }

// flat writes an object that has the keys of both.
func flat[V any](object any, more map[string]V) ([]byte, error) {
	data, err := json.Marshal(object)
	if err != nil || len(more) == 0 {
		return data, err
	}
	all := map[string]any{}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for key, v := range more {
		all[key] = v
	}
	return json.Marshal(all)
}
