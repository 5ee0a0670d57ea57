// Package yamldoc reads YAML files into trees that know where each value stands,
// replaces the variables in them, and fills Go values from them. It goes on after
// a fault, so that everything that is wrong is reported at once, each problem with
// its place and what would be right.
package yamldoc
