//go:build flyball_check

package store

const alwaysCheck = true
