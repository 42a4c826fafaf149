package review

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
)

// keep is the size above which a buffer goes to the garbage collector rather than to the next
// request.
const keep = 256 << 10

// free is how much of each request is not counted: those who send much and slowly do not keep out
// what most calls are.
const free = 64 << 10

// budget counts the bytes that requests hold.
type budget struct {
	used  atomic.Int64
	limit int64
}

// grow takes what a buffer costs more when its size changes from one to another.
func (b *budget) grow(from, to int) bool {
	n := cost(to) - cost(from)
	if n > 0 && b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// give returns what a buffer of a size has cost.
func (b *budget) give(size int) { b.used.Add(-cost(size)) }

func cost(size int) int64 { return int64(max(0, size-free)) }

// check refuses a request by its header, before anything of the body has been read.
func check(r *http.Request, limit int64) *Refusal {
	if r.Method != http.MethodPost {
		return &Refusal{Code: http.StatusMethodNotAllowed, Message: "method " + clip(r.Method) + " is not POST"}
	}
	if ct := r.Header.Get("Content-Type"); !isJSON(ct) {
		return &Refusal{Code: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("content type %q is not application/json", clip(ct))}
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return &Refusal{Code: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("content encoding %q is not supported", clip(e))}
	}
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	return nil
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

func tooLarge(limit int64) *Refusal {
	return &Refusal{Code: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", limit)}
}

func busy(what string) *Refusal {
	return &Refusal{Code: http.StatusTooManyRequests, Message: what}
}

// clip keeps what a stranger sent from filling logs and answers.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}

// read appends the body to b, which is empty. It grows as bytes arrive, whatever length the header
// promised, and takes what it holds from the budget: the caller gives cap(b) back, also after an
// error.
func read(body io.Reader, b []byte, limit int64, all *budget) ([]byte, *Refusal) {
	if !all.grow(0, cap(b)) {
		b = nil // a smaller one may do
	}
	for {
		if len(b) == cap(b) {
			size := max(2*cap(b), 8<<10)
			if int64(size) > limit {
				size = int(limit) + 1
			}
			if int64(len(b)) > limit {
				return b, tooLarge(limit)
			}
			if !all.grow(cap(b), size) {
				return b, busy("too many bytes wait to be answered")
			}
			grown := make([]byte, len(b), size)
			copy(grown, b)
			b = grown
		}
		n, err := body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > limit:
			return b, tooLarge(limit)
		case err == io.EOF:
			return b, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return b, &Refusal{Code: http.StatusRequestTimeout, Message: "the body did not arrive in time"}
		case err != nil:
			if server, ok := errors.AsType[*http.MaxBytesError](err); ok { // its bound is the lower one
				return b, tooLarge(server.Limit)
			}
			return b, Bad("", "the body cannot be read", err)
		}
	}
}
