package review

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flyball-io/flyball/internal/wire"
)

// RefusalError is the answer to a request that gets no verdict: the review is malformed, or the webhook
// itself failed.
type RefusalError struct {
	// Code is the HTTP status code.
	Code    int
	Message string
	// UID is the UID of the review, empty if unknown.
	UID string
	// Err is the cause, or nil.
	Err error
}

func (r *RefusalError) Error() string {
	if r.Err != nil {
		return r.Message + ": " + r.Err.Error()
	}
	return r.Message
}

func (r *RefusalError) Unwrap() error { return r.Err }

// Bad returns the refusal of a malformed request.
func Bad(uid, message string, err error) *RefusalError {
	return &RefusalError{Code: http.StatusBadRequest, UID: uid, Message: message, Err: err}
}

// AppendString appends s as a JSON string. Invalid UTF-8 is replaced.
func AppendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// append appends the refusal as a Status.
func (r *RefusalError) append(b []byte) []byte {
	b = append(b, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":`...)
	b = AppendString(b, r.Error())
	b = append(b, `,"reason":`...)
	b = AppendString(b, string(wire.ReasonOf(r.Code)))
	if r.UID != "" {
		b = append(b, `,"details":{"uid":`...)
		b = AppendString(b, r.UID)
		b = append(b, '}')
	}
	b = append(b, `,"code":`...)
	b = strconv.AppendInt(b, int64(r.Code), 10)
	return append(b, '}')
}
