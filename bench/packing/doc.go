// Package packing measures, in benchmarks, how small and how fast objects of the corpora are
// packed:
//
//	go test -C bench -run '^$' -bench . ./packing
//
// It prints, for each corpus: the bytes of an object as it came (wire-B), of its record
// (record-B), with its share of the templates, which are packed against the first of them
// (object-B), the time of packing (ns/op of pack) and of unpacking (ns/op of unpack). The benchmark
// Zstd prints what zstd at its best makes of the whole corpus as one stream: no store could be
// read from that, it is the limit.
package packing
