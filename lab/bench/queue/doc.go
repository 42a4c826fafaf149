// Package queue measures the work queue beside client-go's and controller-runtime's. It contains
// only benchmarks.
//
//	go test -C lab ./bench/queue -run '^$' -bench 'OneKey|Pipelined|Producers|Delayed' -benchtime 800000x -count 5
//	go test -C lab ./bench/queue -run '^$' -bench 'FillAndDrain|Queued' -benchtime 5x -count 5
package queue
