//go:build long

package simulation_test

// manySeeds find the bugs that are planted in the code.
const manySeeds = 300
