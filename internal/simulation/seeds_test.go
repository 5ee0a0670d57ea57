//go:build !long

package simulation_test

// manySeeds are simulated where nothing else is said.
const manySeeds = 25
