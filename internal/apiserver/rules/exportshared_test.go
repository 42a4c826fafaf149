//go:build linux || darwin

package rules

import "time"

// Listen is the loop of the rules program that clients share.
func Listen(answer func(*Request) *Answer, frame int, socket string, idle time.Duration) error {
	return newProgram(answer, frame).listen(socket, idle)
}
