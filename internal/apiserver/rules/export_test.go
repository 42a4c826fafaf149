package rules

import "io"

// Serve is the loop of the rules program.
func Serve(answer func(*Request) *Answer, frame int, in io.Reader, out io.Writer) error {
	return newProgram(answer, frame).serve(in, out)
}
