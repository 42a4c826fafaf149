package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/wire"
)

// maxStatus is the maximum number of bytes that are read of the body of an error, and of a small document.
const maxStatus = 1 << 20

// answerError makes the error for an answer that is not 2xx. ADR 36 has the table. Only a Status says what
// the API server decided. Any other body may be the page of a proxy: it says that there is no answer.
func answerError(call Call, base *url.URL, resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatus)) // a part is a page
	after := retryAfter(resp.Header)
	if s, ok := parseStatus(data); ok && fits(s, resp.StatusCode) {
		s.Code = int32(resp.StatusCode)
		return statusError(call, s, after)
	}
	return pageError(call, base, resp, data, after)
}

// fits reports whether a Status belongs to an answer with this code. Another one was not sent by an API
// server in this answer.
func fits(s metav1.Status, code int) bool {
	return s.Status != metav1.StatusSuccess && (s.Code == 0 || int(s.Code) == code)
}

// pageError is the error for an answer without a Status.
func pageError(call Call, base *url.URL, resp *http.Response, data []byte, after time.Duration) error {
	text := wire.Excerpt(data)
	if resp.StatusCode == http.StatusBadRequest && base.Scheme == "http" && strings.Contains(text, "HTTPS server") {
		return &ConfigError{Call: call, Source: base.String(), Problem: "it speaks TLS, the configuration says http", cause: errors.New(text)}
	}
	if _, isStatus := parseStatus(data); isStatus {
		text = "" // its message is of another answer
	}
	msg := "the server answered " + strings.TrimSpace(resp.Status) + " without a Status"
	if text != "" {
		msg += ": " + text
	}
	s := metav1.Status{Status: metav1.StatusFailure, Code: int32(resp.StatusCode), Message: msg}
	if s.Reason = pageReason(resp.StatusCode); s.Reason == metav1.StatusReasonUnknown {
		return &ResponseError{
			RequestError: RequestError{Call: call, status: s},
			ContentType:  resp.Header.Get("Content-Type"),
			Excerpt:      text,
		}
	}
	return typedError(call, s, after, ownText(resp, data))
}

// pageReason is the reason for the code of an answer without a Status; unknown: the code says nothing that
// can be relied on. No page says anything about an object.
func pageReason(code int) metav1.StatusReason {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout,
		http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return wire.ReasonOf(code)
	}
	if code >= http.StatusInternalServerError {
		return wire.ReasonOf(code)
	}
	return metav1.StatusReasonUnknown
}

// ownTexts are the answers with code 429 that the filters of an API server give as text: of priority and
// fairness, and of a server that is about to stop.
var ownTexts = []string{
	"Too many requests, please try again later.",
	"The apiserver is shutting down, please try again later.",
}

// ownText reports whether the API server itself gave an answer without a Status, before it processed the
// request. Its answers have an Audit-Id, and so have those of servers behind it: the text tells them apart.
func ownText(resp *http.Response, data []byte) bool {
	return resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Audit-Id") != "" &&
		strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") &&
		slices.Contains(ownTexts, string(bytes.TrimSpace(data)))
}

// refuses reports whether a Status says that the API server has not processed the request. The reason must
// be its own, not one made of the code.
func refuses(s metav1.Status, after time.Duration) bool {
	switch s.Reason {
	case metav1.StatusReasonUnauthorized, metav1.StatusReasonTooManyRequests,
		metav1.StatusReasonNotAcceptable, metav1.StatusReasonUnsupportedMediaType:
		return true
	case metav1.StatusReasonServiceUnavailable:
		return after > 0
	}
	return false
}

var protobufMagic = []byte("k8s\x00")

// parseStatus decodes a metav1.Status in JSON or protobuf. ok is false for anything else.
func parseStatus(data []byte) (s metav1.Status, ok bool) {
	if bytes.HasPrefix(data, protobufMagic) {
		var u runtime.Unknown
		return s, u.Unmarshal(data[len(protobufMagic):]) == nil && u.Kind == "Status" && s.Unmarshal(u.Raw) == nil
	}
	err := json.Unmarshal(data, &s)
	return s, err == nil && s.Kind == "Status"
}
