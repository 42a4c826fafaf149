// Package audit measures the cost of a watch audit for the program that runs it:
//
//	go test -C bench -run '^$' -bench Audit -benchtime 3x ./audit
//
// It audits 10,000 and 100,000 Pods with managedFields. For each audit it prints four figures:
//
//   - the bytes on the wire: compressed, as an API server does from 128 KiB on, and uncompressed
//   - the CPU time of this process, HTTP included
//   - the largest increase of the process's memory (RSS)
//   - the duration
//
// The server is a separate process, and encodes nothing during the measurement.
package audit
