package cli

import "github.com/spf13/cobra"

// A Store is the data folder of a stopped host that a command may read instead of asking NATS.
type Store struct {
	Folder string // that --store names; empty: none
}

// Register gives cmd the flag --store.
func (s *Store) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.Folder, "store", "", "read the data `folder` of a stopped host instead of asking NATS")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if s.Folder == "" {
			return nil
		}
		return NotWithStore(cmd, "server", "context")
	}
}

// NotWithStore refuses flags that name another place beside --store.
func NotWithStore(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return Usage("--store and --%s: want one of them", name)
		}
	}
	return nil
}
