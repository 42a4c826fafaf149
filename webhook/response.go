package webhook

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flyball-io/flyball/webhook/internal/review"
)

// Response is a verdict. The zero value denies without a reason. [Allowed] and [Denied] return the
// usual ones.
type Response struct {
	Allowed bool
	// Status is the reason of a denial. It is nil if Allowed.
	Status *metav1.Status
	// Patch is a JSON patch (RFC 6902) of the object, from a mutating webhook that allows it. Empty
	// means no change. See [PatchTo].
	Patch []byte
	// Warnings are shown to the user, before those of [Warn].
	Warnings []string
	// AuditAnnotations go to the audit log. The API server prefixes the keys with the webhook's
	// name.
	AuditAnnotations map[string]string
}

// Allowed returns a verdict that admits the object.
func Allowed(warnings ...string) Response { return Response{Allowed: true, Warnings: warnings} }

// Denied returns a verdict that rejects the object of req because of err, which must not be nil.
//
//   - Field errors (*field.Error, alone, joined, or from ErrorList.ToAggregate) become 422 Invalid.
//     Each is a cause that names its field, as in the API server's own answers.
//   - Errors of the API (apierrors, those of package client) keep their code and reason.
//   - Any other error is 403 Forbidden with its message.
//
// Denied always returns a verdict, whatever err is. The error of a Defaulter or Validator is
// checked by the rules of [Failed] first.
func Denied(req *Request, err error, warnings ...string) Response {
	return Response{Status: statusOf(err, req.Kind.GroupKind(), req.Name), Warnings: warnings}
}

// statusOf returns the status of a denial.
func statusOf(err error, kind schema.GroupKind, name string) *metav1.Status {
	if err == nil {
		err = errors.New("denied")
	}
	fields, rest := split(err, nil, nil)
	if len(fields) > 0 {
		s := apierrors.NewInvalid(kind, name, fields).Status()
		for _, e := range rest {
			s.Details.Causes = append(s.Details.Causes, metav1.StatusCause{Message: e.Error()})
			s.Message += "; " + e.Error()
		}
		return &s
	}
	if api := apierrors.APIStatus(nil); errors.As(err, &api) {
		s := api.Status()
		s.Status = metav1.StatusFailure
		if s.Code < http.StatusBadRequest {
			s.Code = http.StatusForbidden
		}
		s.Message = cmp.Or(s.Message, err.Error())
		return &s
	}
	return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: err.Error()}
}

// split separates the field errors in err from all others. It descends into joined errors and
// aggregates.
func split(err error, fields field.ErrorList, rest []error) (field.ErrorList, []error) {
	switch e := err.(type) {
	case nil:
	case *field.Error:
		fields = append(fields, e)
	case interface{ Errors() []error }: // an Aggregate of apimachinery
		for _, one := range e.Errors() {
			fields, rest = split(one, fields, rest)
		}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			fields, rest = split(one, fields, rest)
		}
	default:
		if one := (*field.Error)(nil); errors.As(err, &one) {
			copied := *one // the text of the wrapping error goes into Detail
			copied.Detail = strings.TrimSuffix(err.Error(), one.Error()) + one.Detail
			return append(fields, &copied), rest
		}
		rest = append(rest, err)
	}
	return fields, rest
}

// PatchTo returns a response whose patch changes the object of the request to the JSON document
// want. The patch is as small as possible. Use it in handlers of JSON or unstructured objects.
func PatchTo(req *Request, want []byte, warnings ...string) (Response, error) {
	patch, err := diff(req.Object, req.Object, want)
	if err != nil {
		return Response{}, fmt.Errorf("patch of the object: %w", err)
	}
	return Response{Allowed: true, Patch: patch, Warnings: warnings}, nil
}

var errPatchOfDenied = errors.New("a denial must not have a patch")
var errPatchOfValidating = errors.New("a patch from a webhook that is not mutating")

// append appends the review that answers req.
func (resp *Response) append(b []byte, req *Request) ([]byte, error) {
	b = append(b, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/`...)
	b = append(b, req.version...)
	b = append(b, `","response":{"uid":`...)
	b = review.AppendString(b, string(req.UID))
	if resp.Allowed {
		b = append(b, `,"allowed":true`...)
	} else {
		b = append(b, `,"allowed":false`...)
		status := resp.Status
		if status == nil {
			status = statusOf(nil, req.Kind.GroupKind(), req.Name)
		}
		text, err := json.Marshal(status)
		if err != nil {
			return nil, fmt.Errorf("status of the denial: %w", err)
		}
		b = append(b, `,"status":`...)
		b = append(b, text...)
	}
	if len(resp.Patch) > 0 {
		b = append(b, `,"patchType":"JSONPatch","patch":"`...)
		b = base64.StdEncoding.AppendEncode(b, resp.Patch)
		b = append(b, '"')
	}
	if warnings := slices.Concat(resp.Warnings, req.warnings); len(warnings) > 0 {
		text, _ := json.Marshal(warnings) // strings do not fail
		b = append(append(b, `,"warnings":`...), text...)
	}
	if len(resp.AuditAnnotations) > 0 {
		text, _ := json.Marshal(resp.AuditAnnotations)
		b = append(append(b, `,"auditAnnotations":`...), text...)
	}
	return append(b, "}}"...), nil
}
