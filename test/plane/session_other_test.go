//go:build !linux

package plane_test

func sessionID() int { return 0 }
