package review

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
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

// read reads the body of a request with a length within the limit, or with none. It takes the memory for a large body, and
// for an answer of that size, from the budget first. bound is the time for the body if the server has none.
func (x *exchange) read(w http.ResponseWriter, r *http.Request, start time.Time, bound time.Duration) *RefusalError {
	o := &x.e.o
	if s, _ := r.Context().Value(http.ServerContextKey).(*http.Server); s != nil && s.ReadTimeout > 0 {
		bound = s.ReadTimeout
	}
	until := start.Add(bound)
	length := r.ContentLength
	if length < 0 {
		length = o.Limits.Body
	}
	buf := bytes.NewBuffer(x.in)
	if length > small {
		if no := o.Budget.take(r.Context(), o.weight(length)); no != nil {
			return no
		}
		x.held = o.weight(length)
		if soon := time.Now().Add(patience); bound <= 0 || soon.Before(until) {
			until, bound = soon, patience
		}
		buf.Grow(int(length) + bytes.MinRead) // and the end is seen without another buffer
	}
	if bound > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(until)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, o.Limits.Body))
	x.in = buf.Bytes()
	if long, ok := errors.AsType[*http.MaxBytesError](err); ok { // the server may have a lower limit
		return tooLarge(long.Limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &RefusalError{Code: http.StatusRequestTimeout, Message: "the body did not arrive in time"}
	}
	if err != nil {
		return Bad("", "the body cannot be read", err)
	}
	if o.AnswersBodies && x.held > 0 {
		x.out = make([]byte, 0, answerSize(int64(len(x.in))))
	}
	return nil
}

// weight returns what a request with a body of n bytes takes from the budget.
func (o *Options) weight(n int64) int64 {
	if o.AnswersBodies {
		n += answerSize(n)
	}
	return n
}

// answerSize returns the memory for an answer of about the size of its body.
func answerSize(n int64) int64 { return n + n/8 }
