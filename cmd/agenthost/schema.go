package main

import (
	"agenthost/config"

	"github.com/spf13/cobra"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of agenthost.yaml",
		Long:    "Schema prints the JSON Schema of agenthost.yaml, with which editors complete and check it.",
		Example: "  agenthost schema > agenthost.schema.json",
		Args:    takes(),
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(schema)
			return err
		},
	}
}
