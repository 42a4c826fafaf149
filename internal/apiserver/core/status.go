package core

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// failure is an error for the client: a Status of the API.
type failure struct{ status metav1.Status }

func (f *failure) Error() string { return f.status.Message }

func newFailure(code int32, reason metav1.StatusReason, message string) *failure {
	return &failure{metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Message: message, Reason: reason, Code: code}}
}

func badRequest(message string) *failure {
	return newFailure(http.StatusBadRequest, metav1.StatusReasonBadRequest, message)
}

func expired(message string) *failure {
	return newFailure(http.StatusGone, metav1.StatusReasonExpired, message)
}

// expiredToken is the error for an expired continue token. It offers one that continues at the present version.
func expiredToken(next string) *failure {
	f := expired("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, " +
		"or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - " +
		"objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
	f.status.Continue = next
	return f
}

// tooLarge is the error for a version that the server has not reached.
func tooLarge(asked, have uint64) *failure {
	f := newFailure(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, fmt.Sprintf("Timeout: Too large resource version: %d, current: %d", asked, have))
	f.status.Details = &metav1.StatusDetails{RetryAfterSeconds: 1, Causes: []metav1.StatusCause{
		{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}}
	return f
}

func (f *failure) answer(req Request) Answer {
	body, contentType := encodeStatus(req.Accept, &f.status)
	a := Answer{Code: int(f.status.Code), ContentType: contentType, Body: body}
	if f.status.Details != nil && f.status.Details.RetryAfterSeconds > 0 {
		a.RetryAfter = fmt.Sprint(f.status.Details.RetryAfterSeconds)
	}
	return a
}

// failed returns the answer for an error. An error that is no failure becomes an internal error.
func failed(req Request, err error) Answer {
	var w *pendingError
	if errors.As(err, &w) {
		return w.answer
	}
	var f *failure
	if !errors.As(err, &f) {
		f = newFailure(http.StatusInternalServerError, metav1.StatusReasonInternalError, "Internal error occurred: "+err.Error())
	}
	return f.answer(req)
}

const (
	contentProtobuf = "application/vnd.kubernetes.protobuf"
	contentYAML     = "application/yaml"
)

func takesProtobuf(accept string) bool { return strings.HasPrefix(accept, contentProtobuf) }

func encodeStatus(accept string, s *metav1.Status) (body []byte, contentType string) {
	if takesProtobuf(accept) {
		if raw, err := s.Marshal(); err == nil {
			return envelope(s.TypeMeta, raw), contentProtobuf
		}
	}
	if strings.HasPrefix(accept, contentYAML) {
		if text, err := yaml.Marshal(s); err == nil {
			return text, contentYAML
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers
	}
	return append(text, '\n'), contentJSON
}

// envelope returns an object in the form in which the API server sends protobuf.
func envelope(kind metav1.TypeMeta, raw []byte) []byte {
	return append(append(beginEnvelope(kind, len(raw)), raw...), envelopeEnd...)
}

// beginEnvelope returns the begin of an envelope of an object of a size, with room for the object and the end.
func beginEnvelope(kind metav1.TypeMeta, size int) []byte {
	text, err := (&runtime.TypeMeta{Kind: kind.Kind, APIVersion: kind.APIVersion}).Marshal()
	if err != nil {
		panic(err) // strings
	}
	const lengths = 16
	out := make([]byte, 0, len(magic)+len(text)+size+lengths+len(envelopeEnd))
	out = appendField(append(out, magic...), 1, text)
	return binary.AppendUvarint(append(out, fieldRaw<<3|2), uint64(size))
}

// envelopeEnd has the fields after the object: its encoding and its media type, which are empty.
const envelopeEnd = "\x1a\x00\x22\x00"
