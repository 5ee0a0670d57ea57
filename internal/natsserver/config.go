package natsserver

// Config is `nats.embedded`.
type Config struct {
	Store  string  `yaml:"store,omitempty" json:"store,omitempty"`   // default ./data
	Listen *string `yaml:"listen,omitempty" json:"listen,omitempty"` // default 127.0.0.1:4222; "": no port
	Sync   string  `yaml:"sync,omitempty" json:"sync,omitempty"`     // always (default) or an interval such as 2m
	Config string  `yaml:"config,omitempty" json:"config,omitempty"` // a nats-server configuration file, read first

	Anonymous string `yaml:"anonymous,omitempty" json:"anonymous,omitempty"` // AnonymousChannels (default), AnonymousNone, AnonymousAll
}
