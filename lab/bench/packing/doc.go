// Package packing measures, in benchmarks, the size and speed of packing the objects of the
// corpora:
//
//	go test -C lab -run '^$' -bench . ./bench/packing
//
// For each corpus it prints sizes in bytes: of an object as it arrives (wire-B), of its record
// (record-B), and of the record with its share of the templates (object-B). Templates are packed
// against the first of them. For packing (Pack) and unpacking (Unpack) it prints elapsed time
// (ns/op) and CPU time of this process (cpu-ns/op). Other programs on the machine affect the latter
// less.
//
// Objects of a "self" corpus have no template; "reindexed" makes an index for each object. The
// benchmark Zstd prints the result of zstd at its best for the whole corpus as one stream. That is
// the limit, since no store could read single objects of it.
package packing
