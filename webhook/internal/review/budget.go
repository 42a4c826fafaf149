package review

import (
	"context"
	"math"
	"net/http"
	"runtime/debug"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// small is the largest body in bytes that needs nothing of a budget. Most are smaller.
	small = 64 << 10
	// patience is the longest wait for a share of a budget, and then the longest time for the body to arrive. API
	// servers send a body within milliseconds.
	patience = 5 * time.Second
)

// Budget bounds the memory that the requests to some endpoints hold together. A body of more than 64 KiB, and the
// answer of a conversion, take their size from it before the body is read, and give it back when the handler has
// returned. Where none is left, a request waits for five seconds and is then refused with 429 and a Retry-After. Once
// it has its share, the body must arrive within five seconds. Endpoints share a budget through the same pointer.
type Budget struct {
	size int64
	free *semaphore.Weighted
}

// NewBudget returns a budget of the given size in bytes. Zero means 256 MiB, or a quarter of GOMEMLIMIT if that is less,
// but at least 16 MiB. Negative means no bound. Bodies that could never fit are refused.
func NewBudget(bytes int64) *Budget {
	switch {
	case bytes == 0:
		bytes = min(max(debug.SetMemoryLimit(-1)/4, 16<<20), 256<<20)
	case bytes < 0:
		bytes = math.MaxInt64
	}
	return &Budget{size: bytes, free: semaphore.NewWeighted(bytes)}
}

// take takes n bytes, and waits for them if necessary.
func (b *Budget) take(ctx context.Context, n int64) *RefusalError {
	bound, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch {
	case b.free.Acquire(bound, n) == nil:
		return nil
	case ctx.Err() != nil:
		return &RefusalError{Code: http.StatusServiceUnavailable, Message: "the caller has disconnected"}
	}
	return busy("the memory for request bodies is exhausted")
}
