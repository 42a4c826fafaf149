package review

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// maxReuse is the largest buffer in bytes that is reused for the next request.
const maxReuse = 64 << 10

// check refuses a request by its header, before any byte of the body is read.
func check(r *http.Request, limit int64) *RefusalError {
	if r.Method != http.MethodPost {
		return &RefusalError{Code: http.StatusMethodNotAllowed, Message: "method " + Clip(r.Method) + " is not POST"}
	}
	ct := r.Header.Get("Content-Type")
	if media, _, _ := strings.Cut(ct, ";"); !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		return &RefusalError{Code: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("content type %q is not application/json", Clip(ct))}
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return &RefusalError{Code: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("content encoding %q is not supported", Clip(e))}
	}
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	return nil
}

func tooLarge(limit int64) *RefusalError {
	return &RefusalError{Code: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", limit)}
}

func busy(what string) *RefusalError {
	return &RefusalError{Code: http.StatusTooManyRequests, Message: what}
}

// read appends the body to b, which is empty. The buffer grows as bytes arrive, whatever length the
// header announces. h holds the cost of the memory, also after an error.
func read(r *http.Request, b []byte, limit int64, all *Budget, h *reservation) ([]byte, *RefusalError) {
	if err := all.take(r.Context(), h, int64(cap(b))); err != nil {
		return nil, refusal(err)
	}
	for {
		if len(b) == cap(b) {
			if int64(len(b)) > limit {
				return b, tooLarge(limit)
			}
			size := max(2*int64(cap(b)), 8<<10)
			if l := r.ContentLength; l > 0 && l <= limit {
				size = max(min(size, l+512), int64(cap(b))+512) // and the end of the body is seen without another buffer
			}
			if size > limit {
				size = limit + 1
			}
			if err := all.take(r.Context(), h, size); err != nil {
				return b, refusal(err)
			}
			grown := make([]byte, len(b), size)
			copy(grown, b)
			all.give(h, int64(cap(b))+size-int64(cap(grown)))
			b = grown
		}
		n, err := r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > limit:
			return b, tooLarge(limit)
		case err == io.EOF:
			if err := all.arrived(h); err != nil {
				return b, refusal(err)
			}
			return b, nil
		case err != nil && all.arrived(h) != nil:
			return b, refusal(errEvicted)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return b, &RefusalError{Code: http.StatusRequestTimeout, Message: "the body did not arrive in time"}
		case err != nil:
			if server, ok := errors.AsType[*http.MaxBytesError](err); ok { // the server's limit is the lower one
				return b, tooLarge(server.Limit)
			}
			return b, Bad("", "the body cannot be read", err)
		}
	}
}
