package config

import "agenthost/internal/yamldoc"

// A Problem is one thing that is wrong with a configuration, where it is, and
// what would be right.
type Problem = yamldoc.Problem

// A FileError is everything that is wrong with a configuration, in the order
// of the files and the lines.
type FileError = yamldoc.FileError

// Nearest returns the word of a list that is most like w, or "" when none is close.
func Nearest(w string, words []string) string { return yamldoc.Nearest(w, words) }
