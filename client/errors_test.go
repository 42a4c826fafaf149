package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

func asType[E error](err error) (E, bool) { return errors.AsType[E](err) }

// is reports whether err holds an error of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestErrorsHaveTypesByTheirCause(t *testing.T) {
	for _, tt := range []struct {
		name   string
		h      http.HandlerFunc
		is     func(error) bool
		family func(error) bool
	}{
		{"not found", status(404, metav1.StatusReasonNotFound, ""), is[*NotFoundError], apierrors.IsNotFound},
		{"exists", status(409, metav1.StatusReasonAlreadyExists, ""), is[*AlreadyExistsError], apierrors.IsAlreadyExists},
		{"conflict", status(409, metav1.StatusReasonConflict, ""), is[*ConflictError], apierrors.IsConflict},
		{"invalid", status(422, metav1.StatusReasonInvalid, ""), is[*InvalidError], apierrors.IsInvalid},
		{"forbidden", status(403, metav1.StatusReasonForbidden, ""), is[*ForbiddenError], apierrors.IsForbidden},
		{"unauthorized", status(401, metav1.StatusReasonUnauthorized, ""), is[*UnauthorizedError], apierrors.IsUnauthorized},
		{"too many", status(429, metav1.StatusReasonTooManyRequests, ""), is[*TooManyRequestsError], apierrors.IsTooManyRequests},
		{"gone", status(410, metav1.StatusReasonGone, ""), is[*GoneError], apierrors.IsGone},
		{"expired", status(410, metav1.StatusReasonExpired, ""), is[*GoneError], apierrors.IsResourceExpired},
		{"timeout", status(504, metav1.StatusReasonTimeout, ""), is[*TimeoutError], apierrors.IsTimeout},
		{"server timeout", status(500, metav1.StatusReasonServerTimeout, ""), is[*TimeoutError], apierrors.IsServerTimeout},
		{"unavailable", status(503, metav1.StatusReasonServiceUnavailable, ""), is[*UnavailableError], apierrors.IsServiceUnavailable},
		{"broken", status(500, metav1.StatusReasonInternalError, ""), is[*InternalError], apierrors.IsInternalError},
		{"bad request", status(400, metav1.StatusReasonBadRequest, ""), is[*RejectedError], apierrors.IsBadRequest},
		{"method", status(405, metav1.StatusReasonMethodNotAllowed, ""), is[*RejectedError], apierrors.IsMethodNotSupported},
		{"too large", status(413, metav1.StatusReasonRequestEntityTooLarge, ""), is[*RejectedError], apierrors.IsRequestEntityTooLargeError},

		{"no reason, 409", status(409, "", ""), is[*ConflictError], apierrors.IsConflict},
		{"no reason, 403", status(403, metav1.StatusReasonUnknown, ""), is[*ForbiddenError], apierrors.IsForbidden},
		{"HTML 502", text(502, "text/html", "<html>bad gateway</html>"), is[*UnavailableError], apierrors.IsServiceUnavailable},
		{"HTML 504", text(504, "text/html", "<html>slow</html>"), is[*TimeoutError], apierrors.IsTimeout},
		{"HTML 403", text(403, "text/html", "<html>proxy says no</html>"), is[*ForbiddenError], apierrors.IsForbidden},
		{"text 500", text(500, "text/plain", "oops"), is[*InternalError], apierrors.IsInternalError},
		{"404 of the resource", text(404, "text/plain", "404 page not found"), is[*NotServedError], meta.IsNoMatchError},
		{"redirect", text(302, "text/html", "go away"), is[*ResponseError], nil},
		{"HTML 400", text(400, "text/html", "<html>"), is[*ResponseError], nil},
		{"HTML 200", text(200, "text/html", "<html>log in</html>"), is[*ResponseError], nil},
		{"no content type", text(200, "", "{}"), is[*ResponseError], nil},
		{"truncated JSON", text(200, "application/json", `{"kind":"Pod","apiVersion":"v1","metadata":{"na`), is[*ResponseError], nil},
		{"empty body", text(200, "application/json", ""), is[*ResponseError], nil},
		{"protobuf without magic", text(200, "application/vnd.kubernetes.protobuf", "xyz"), is[*ResponseError], nil},
		{"other kind", text(200, "application/json", `{"kind":"Node","apiVersion":"v1","metadata":{"name":"x"}}`), is[*ResponseError], nil},
		{"a Table", text(200, "application/json", `{"kind":"Table","apiVersion":"meta.k8s.io/v1"}`), is[*ResponseError], nil},
		{"Status in a 200", answer(200, failureStatus(409, metav1.StatusReasonConflict)), is[*ResponseError], nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			f.on("GET /api/v1/namespaces/web/pods/x", tt.h)
			_, err := Get[corev1.Pod](t.Context(), f.client(Options{Retries: -1}), key("x"))
			if !tt.is(err) {
				t.Fatalf("got %T: %v", err, err)
			}
			if tt.family != nil && !tt.family(err) {
				t.Errorf("apimachinery does not see it: %v", err)
			}
			if wrapped := errors.Join(errors.New("outer"), err); tt.family != nil && !tt.family(wrapped) {
				t.Error("apimachinery does not see it through a wrapper")
			}
			if !strings.Contains(err.Error(), "get pods web/x") {
				t.Errorf("does not name the call: %v", err)
			}
		})
	}
}

// A kind that is not served must not look like a deleted object to a controller.
func TestNotServedIsNotNotFound(t *testing.T) {
	f := newFake(t)
	_, err := Get[corev1.Pod](t.Context(), f.client(Options{}), key("x"))
	if !is[*NotServedError](err) || apierrors.IsNotFound(err) || is[*NotFoundError](err) {
		t.Errorf("got %v", err)
	}
}

func TestForbiddenNamesEverything(t *testing.T) {
	f := newFake(t)
	s := failureStatus(403, metav1.StatusReasonForbidden)
	s.Message = `deployments.apps is forbidden: User "system:serviceaccount:web:\"odd" cannot list resource "deployments" in API group "apps" in the namespace "web"`
	f.on("GET /apis/apps/v1/namespaces/web/deployments", answer(403, s))
	_, errs := names(t, List[appsv1.Deployment](t.Context(), f.client(Options{}), InNamespace("web")))
	if len(errs) != 1 {
		t.Fatalf("got %v", errs)
	}
	err := errs[0]
	e, ok := errors.AsType[*ForbiddenError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	got := []string{e.Verb, e.Resource.Group, e.Resource.Resource, e.Key.Namespace, e.User}
	equal(t, "Forbidden", got, []string{"list", "apps", "deployments", "web", `system:serviceaccount:web:"odd`})
	if want := "list deployments.apps in namespace web: "; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %q, want it to begin %q", err, want)
	}
}

func TestInvalidHasFields(t *testing.T) {
	f := newFake(t)
	s := failureStatus(422, metav1.StatusReasonInvalid)
	s.Details.Causes = []metav1.StatusCause{
		{Type: metav1.CauseTypeFieldValueRequired, Field: "spec.containers", Message: "Required value"},
		{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.name", Message: "Invalid value"},
	}
	f.on("POST /api/v1/namespaces/web/pods", answer(422, s))
	_, err := Create(t.Context(), f.client(Options{}), pod("x"))
	e, ok := errors.AsType[*InvalidError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	equal(t, "fields", e.Fields, s.Details.Causes)
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		h    http.HandlerFunc
		want time.Duration
		ok   bool
	}{
		{status(429, metav1.StatusReasonTooManyRequests, "3"), 3 * time.Second, true},
		{status(429, metav1.StatusReasonTooManyRequests, ""), 0, true},
		{status(503, metav1.StatusReasonServiceUnavailable, "2"), 2 * time.Second, true},
		{status(503, "", "nonsense"), 0, true},
		{status(404, metav1.StatusReasonNotFound, "2"), 0, false},
	} {
		f := newFake(t)
		f.on("GET /api/v1/namespaces/web/pods/x", tt.h)
		_, err := Get[corev1.Pod](t.Context(), f.client(Options{Retries: -1}), key("x"))
		if d, ok := RetryAfter(err); d != tt.want || ok != tt.ok {
			t.Errorf("%v: got %v %v, want %v %v", err, d, ok, tt.want, tt.ok)
		}
	}
}

func TestCallString(t *testing.T) {
	r := podGVK.GroupVersion().WithResource("pods")
	for want, c := range map[string]Call{
		"get pods web/x":             {Verb: "get", Resource: r, Key: key("x")},
		"list pods":                  {Verb: "list", Resource: r},
		"list pods in namespace web": {Verb: "list", Resource: r, Key: object.Key{Namespace: "web"}},
		"patch pods/status web/x":    {Verb: "patch", Resource: r, Key: key("x"), Subresource: "status"},
		"discover Widget":            {Verb: "discover", Kind: "Widget"},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// FuzzAnswer checks that every answer gives a typed error and no panic.
func FuzzAnswer(f *testing.F) {
	f.Add(404, "application/json", []byte(`{"kind":"Status","apiVersion":"v1","reason":"NotFound","details":{"name":"x"}}`))
	f.Add(500, "application/json", []byte(`{"kind":"Status","details":{"causes":[{}],"retryAfterSeconds":-1}}`))
	f.Add(200, "application/vnd.kubernetes.protobuf", []byte("k8s\x00\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x00"))
	f.Add(200, "text/html", []byte("<html>"))
	f.Add(403, "", []byte(`{"kind":"Status","reason":"Forbidden","message":"User \"a"}`))
	f.Fuzz(func(t *testing.T, code int, contentType string, body []byte) {
		if code < 200 || code > 599 {
			return
		}
		fk := newFake(t)
		fk.on("GET /api/v1/namespaces/web/pods/x", text(code, contentType, string(body)))
		p, err := Get[corev1.Pod](t.Context(), fk.client(Options{Retries: -1, Scheme: testScheme}), key("x"))
		if (p == nil) == (err == nil) {
			t.Fatalf("got %v and %v", p, err)
		}
	})
}

// Every error names its subject.
func TestErrorsNameTheirSubject(t *testing.T) {
	cause := errors.New("the cause")
	call := Call{Verb: "get", Resource: podGVK.GroupVersion().WithResource("pods"), Key: key("x")}
	for want, err := range map[string]error{
		`patch: Force: is for an apply only`:                                                          &ArgumentError{Call: Call{Verb: verbPatch}, Argument: "Force", Problem: "is for an apply only"},
		`create Pod "web/x": key: name is bad`:                                                        badKey(verbCreate, podGVK, key("x"), "name is bad"),
		`selector "a(": the cause`:                                                                    badSelector("a(", cause),
		`patch of type application/merge-patch+json: the cause`:                                       MergePatch(failing{cause}).Err(),
		`configuration /a/b: the cause`:                                                               &ConfigError{Source: "/a/b", cause: cause},
		`no cluster configuration: tried a, b; name a kubeconfig file`:                                &ConfigError{Source: "a, b", cause: rest.ErrNotInCluster},
		`get pods web/x: server http://s: it is not: the cause`:                                       &ConfigError{Call: call, Source: "http://s", Problem: "it is not", cause: cause},
		`get pods web/x: the server does not serve /v1, Kind=Pod`:                                     &NotServedError{Call: call, GVK: podGVK, cause: cause},
		`list: kind of *client.T: the cause`:                                                          fmt.Errorf("list: %w", &object.UnknownKindError{Type: "*client.T", Err: cause}),
		`get pods web/x: closed by the server`:                                                        &WatchClosedError{Call: call},
		`get pods/scale web/x: the server does not serve /v1, Kind=Pod, or not its subresource scale`: &NotServedError{Call: Call{Verb: "get", Resource: call.Resource, Key: call.Key, Subresource: "scale"}, GVK: podGVK, cause: cause},
	} {
		if got := err.Error(); !strings.Contains(got, want) && !(strings.HasPrefix(want, "patch of") && strings.HasSuffix(got, "the cause")) {
			t.Errorf("got %q, want %q", got, want)
		}
		if u := errors.Unwrap(err); u != nil && u != io.EOF && !errors.Is(err, cause) && !errors.Is(err, rest.ErrNotInCluster) {
			t.Errorf("%q does not unwrap to its cause", want)
		}
	}
}

// failing cannot be encoded as JSON.
type failing struct{ err error }

func (f failing) MarshalJSON() ([]byte, error) { return nil, f.err }

// A Status is decoded from protobuf as from JSON.
func TestStatusIsReadFromProtobuf(t *testing.T) {
	f := newFake(t)
	s := failureStatus(409, metav1.StatusReasonConflict)
	raw, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, Raw: raw}
	body, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	f.on("GET "+podPath, text(409, wire.ContentTypeProtobuf, "k8s\x00"+string(body)))
	_, err = Get[corev1.Pod](t.Context(), f.client(Options{}), key("x"))
	if e, ok := asType[*ConflictError](err); !ok || e.Status().Message != s.Message {
		t.Errorf("got %v", err)
	}
}

// An error has no excerpt of a body that may hold a secret.
func TestErrorsHaveNoExcerptOfObjects(t *testing.T) {
	for body, want := range map[string]string{
		"<html>log in</html>": "<html>log in</html>",
		`{"kind":"Secret","apiVersion":"v1","data":{"password":"aHVudGVyMg=="`: "",
	} {
		f := newFake(t)
		ct := wire.ContentTypeJSON
		if body[0] == '<' {
			ct = "text/html"
		}
		f.on("GET /api/v1/namespaces/web/secrets/x", text(200, ct, body))
		_, err := Get[corev1.Secret](t.Context(), f.client(Options{}), key("x"))
		e, ok := asType[*ResponseError](err)
		if !ok || e.Excerpt != want || strings.Contains(err.Error(), "aHVudGVyMg") {
			t.Errorf("got %q in %v", e.Excerpt, err)
		}
	}
}
