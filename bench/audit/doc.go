// Package audit measures what an audit of a watch costs the program that makes it:
//
//	go test -C bench -run '^$' -bench Audit -benchtime 3x ./audit
//
// For 10,000 and 100,000 Pods with managedFields it prints, for each audit: the bytes that came over the
// wire (compressed, as an API server does from 128 KiB on, and whole), the CPU of this process, HTTP
// included, by how much the memory of the process rose at most (RSS), and how long it took. The server is
// another process, and encodes nothing while it is measured.
package audit
