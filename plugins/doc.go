// Package plugins connects agents to the platforms on which people are.
//
// A [Channel] speaks the protocol of one platform and nothing else. A [Courier]
// serves one account of it and does what is the same for all platforms: one host
// of the fleet owns the account; what people write is stored before the platform
// is told so; replies go out in the order of their chat, are split, rendered,
// sent again and, when the platform will never take them, become dead letters.
// It shows typing and previews, asks with buttons or numbered lines, and carries
// files.
//
// A new channel is a folder of its own, its settings in [agenthost/plugins/settings]
// and one line in the table of internal/build. The suite of
// [agenthost/plugins/plugintest] says whether it keeps the contract.
package plugins
