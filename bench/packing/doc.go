// Package packing measures, in benchmarks, how small and how fast objects of the corpora are
// packed:
//
//	go test -C bench -run '^$' -bench . ./packing
//
// It prints, for each corpus: the bytes of an object as it came (wire-B), of its record
// (record-B), with its share of the templates, which are packed against the first of them
// (object-B), and what packing (Pack) and unpacking (Unpack) take, as time (ns/op) and as CPU of
// this process (cpu-ns/op), which other programs on the machine change less. Objects of a "self"
// corpus have no template; "reindexed" makes an index for each object. The benchmark Zstd prints
// what zstd at its best makes of the whole corpus as one stream: no store could read single objects
// of that, it is the limit.
package packing
