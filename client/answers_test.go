package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// This file has the answers that an API server, or something in front of it, can give to each verb. An
// oracle says what the caller must be told and what may be sent again. ADR 36 has the rules in words.

var webKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// web is the object of each call, as the server has it.
func web(name, namespace string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: "u", ResourceVersion: "7"}}
}

// verb is one call of the client.
type verb struct {
	name   string
	method string
	sub    string // the subresource
	list   bool   // without a name
	wants  string // the body that answers it
	call   func(c *Live) error
}

func answerVerbs(t *testing.T) []verb {
	ctx, d := t.Context(), web("web", "shop")
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	generated := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{GenerateName: "we", Namespace: "shop"}}
	fresh := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	patch := MergePatch(`{"spec":{"paused":true}}`)
	second := func(_ any, err error) error { return err }
	return []verb{
		{"Get", "GET", "", false, "object", func(c *Live) error { return second(Get[appsv1.Deployment](ctx, c, object.KeyOf(d))) }},
		{"Get of a subresource", "GET", "status", false, "object", func(c *Live) error {
			return second(Get[appsv1.Deployment](ctx, c, object.KeyOf(d), Sub("status")))
		}},
		{"GetSub", "GET", "scale", false, "scale", func(c *Live) error { return second(GetSub[autoscalingv1.Scale](ctx, c, d, "scale")) }},
		{"List", "GET", "", true, "list", func(c *Live) error {
			for _, err := range List[appsv1.Deployment](ctx, c, InNamespace("shop")) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"ListPage", "GET", "", true, "list", func(c *Live) error { return second(ListPage[appsv1.Deployment](ctx, c, InNamespace("shop"))) }},
		{"Create", "POST", "", true, "object", func(c *Live) error { return second(Create(ctx, c, fresh)) }},
		{"Create with generateName", "POST", "", true, "object", func(c *Live) error { return second(Create(ctx, c, generated)) }},
		{"CreateSub", "POST", "eviction", false, "scale or success", func(c *Live) error { return second(CreateSub(ctx, c, d, "eviction", scale)) }},
		{"Update", "PUT", "", false, "object", func(c *Live) error { return second(Update(ctx, c, d)) }},
		{"UpdateStatus", "PUT", "status", false, "object", func(c *Live) error { return second(UpdateStatus(ctx, c, d)) }},
		{"UpdateSub", "PUT", "scale", false, "scale", func(c *Live) error { return second(UpdateSub(ctx, c, d, "scale", scale)) }},
		{"Patch", "PATCH", "", false, "object", func(c *Live) error { return second(Patch(ctx, c, d, patch)) }},
		{"PatchStatus", "PATCH", "status", false, "object", func(c *Live) error { return second(PatchStatus(ctx, c, d, patch)) }},
		{"SetScale", "PATCH", "scale", false, "scale", func(c *Live) error { return SetScale(ctx, c, d, 3) }},
		{"Apply", "PATCH", "", false, "object", func(c *Live) error { return second(Apply(ctx, c, fresh, "me")) }},
		{"Apply of a status", "PATCH", "status", false, "object", func(c *Live) error { return second(Apply(ctx, c, fresh, "me", Sub("status"))) }},
		{"Delete", "DELETE", "", false, "object or success", func(c *Live) error { return Delete(ctx, c, d) }},
		{"DeleteAll", "DELETE", "", true, "list or success", func(c *Live) error { return DeleteAll[appsv1.Deployment](ctx, c, InNamespace("shop")) }},
		{"Feed.List", "GET", "", true, "list", func(c *Live) error {
			l, err := c.Feed(webKind, Selection{Namespace: "shop"}).List(ctx, wire.ListQuery{})
			for err == nil {
				_, err = l.Next()
			}
			if err == io.EOF {
				err = nil
			}
			return err
		}},
		{"Feed.Watch", "GET", "", true, "", func(c *Live) error {
			w, err := c.Feed(webKind, Selection{Namespace: "shop"}).Watch(ctx, wire.WatchQuery{})
			if err == nil {
				_, err = w.Next()
			}
			return err
		}},
	}
}

// tried is one answer.
type tried struct {
	code   int
	after  string // Retry-After
	audit  bool   // it has an Audit-Id
	ct     string
	what   string // what the body is
	body   string
	reason metav1.StatusReason // of a Status that fits the code
	about  string              // what its details name
}

func (a tried) String() string {
	return fmt.Sprintf("%d %s %s reason %q about %q, Retry-After %q, audited %v", a.code, a.ct, a.what, a.reason, a.about, a.after, a.audit)
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// details are what a Status can be about.
var details = map[string]*metav1.StatusDetails{
	"the object":        {Name: "web", Group: "apps", Kind: "deployments"},
	"a subresource":     {Name: "web", Group: "apps", Kind: "deployments/scale"},
	"its kind by name":  {Name: "web", Group: "apps", Kind: "Deployment"},
	"another name":      {Name: "api", Group: "apps", Kind: "deployments"},
	"another kind":      {Name: "web", Kind: "services"},
	"another group":     {Name: "web", Group: "extensions", Kind: "deployments"},
	"the namespace":     {Name: "shop", Kind: "namespaces"},
	"a name only":       {Name: "web"},
	"a kind only":       {Group: "apps", Kind: "deployments"},
	"nothing":           {},
	"nothing, no field": nil,
}

// reasons are those that API servers send with a code.
var reasons = map[int][]metav1.StatusReason{
	400: {metav1.StatusReasonBadRequest}, 401: {metav1.StatusReasonUnauthorized}, 403: {metav1.StatusReasonForbidden},
	404: {metav1.StatusReasonNotFound, ""}, 405: {metav1.StatusReasonMethodNotAllowed}, 406: {metav1.StatusReasonNotAcceptable},
	409: {metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists, ""}, 410: {metav1.StatusReasonExpired, metav1.StatusReasonGone},
	413: {metav1.StatusReasonRequestEntityTooLarge}, 415: {metav1.StatusReasonUnsupportedMediaType}, 422: {metav1.StatusReasonInvalid},
	429: {metav1.StatusReasonTooManyRequests, ""},
	500: {metav1.StatusReasonInternalError, metav1.StatusReasonServerTimeout, ""}, 503: {metav1.StatusReasonServiceUnavailable, ""},
	504: {metav1.StatusReasonTimeout},
}

// replies are all answers.
func replies() []tried {
	whole := asJSON(web("web", "shop"))
	typed := func(kind, rest string) string { return `{"apiVersion":"apps/v1","kind":"` + kind + `",` + rest[1:] }
	scale := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"shop"}}`
	bodies := map[string]string{
		"nothing":                 "",
		"an HTML page":            "<html><body>503 Service Unavailable</body></html>",
		"a text":                  "upstream connect error",
		"a busy server":           ownTexts[0] + "\n",
		"a stopping server":       ownTexts[1] + "\n",
		"JSON of a gateway":       `{"error":{"code":404,"message":"no route","status":"NOT_FOUND"}}`,
		"the object":              typed("Deployment", whole),
		"the object, cut":         typed("Deployment", whole)[:60],
		"another object":          typed("Deployment", asJSON(web("api", "shop"))),
		"an object elsewhere":     typed("Deployment", asJSON(web("web", "other"))),
		"an object of a kind":     `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"shop"}}`,
		"an object of a version":  `{"apiVersion":"apps/v1beta1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"}}`,
		"the scale":               scale,
		"the scale of another":    strings.Replace(scale, "web", "api", 1),
		"the list":                `{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{"resourceVersion":"9"},"items":[` + whole + `]}`,
		"a list from elsewhere":   `{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{"resourceVersion":"9"},"items":[` + asJSON(web("web", "other")) + `]}`,
		"a list of a kind":        `{"apiVersion":"v1","kind":"ServiceList","metadata":{"resourceVersion":"9"},"items":[]}`,
		"a Table":                 `{"apiVersion":"meta.k8s.io/v1","kind":"Table","rows":[]}`,
		"a success":               `{"apiVersion":"v1","kind":"Status","status":"Success"}`,
		"a success of the object": `{"apiVersion":"v1","kind":"Status","status":"Success","details":{"name":"web","group":"apps","kind":"deployments"}}`,
		"a success of another":    `{"apiVersion":"v1","kind":"Status","status":"Success","details":{"name":"api","group":"apps","kind":"deployments"}}`,
		"a Status of another code": `{"apiVersion":"v1","kind":"Status","status":"Failure","code":499,"reason":"NotFound","message":"m",` +
			`"details":{"name":"web","group":"apps","kind":"deployments","retryAfterSeconds":1}}`,
	}
	var all []tried
	add := func(a tried) {
		for _, after := range []string{"", "1"} {
			for _, audit := range []bool{false, true} {
				if audit && a.code != 429 && a.code != 503 {
					continue
				}
				a.after, a.audit = after, audit
				all = append(all, a)
			}
		}
	}
	for _, code := range []int{200, 201, 204, 302, 400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 415, 422, 429, 499, 500, 502, 503, 504, 520} {
		for what, body := range bodies {
			ct := "application/json"
			switch {
			case what == "an HTML page":
				ct = "text/html"
			case body != "" && body[0] != '{':
				ct = "text/plain; charset=utf-8"
			}
			if !(code == 499 && what == "a Status of another code") {
				add(tried{code: code, ct: ct, what: what, body: body})
			}
		}
		for _, reason := range reasons[code] {
			for about, d := range details {
				s := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: reason, Message: "m", Details: d}
				add(tried{code: code, ct: "application/json", what: "a Status", body: asJSON(s), reason: reason, about: about})
				if about == "the object" {
					add(tried{code: code, ct: "application/json", what: "a Status, cut", body: asJSON(s)[:50]})
				}
			}
		}
	}
	return all
}

// told is the oracle: the type of the error that the caller gets, or "ok". exists says whether the object of a
// subresource exists.
func told(v verb, a tried, exists bool) string {
	if a.code < 300 {
		return believed(v, a)
	}
	if a.what != "a Status" {
		switch a.code {
		case 401, 403, 404, 408, 413, 429, 500, 502, 503, 504, 520:
			return map[int]string{
				401: "Unauthorized", 403: "Forbidden", 404: "NotServed", 408: "Timeout", 413: "Rejected", 429: "TooManyRequests",
				500: "Internal", 502: "Unavailable", 503: "Unavailable", 504: "Timeout", 520: "Internal",
			}[a.code]
		}
		return "Response"
	}
	switch {
	case a.code == 404:
		return absentIs(v, a, exists)
	case a.reason == metav1.StatusReasonAlreadyExists && !v.list && !isAbout(v, a) && details[a.about] != nil && details[a.about].Name != "",
		a.reason == metav1.StatusReasonAlreadyExists && v.name == "Create" && !isAbout(v, a) && details[a.about] != nil && details[a.about].Name != "":
		return "Conflict"
	case a.reason == metav1.StatusReasonAlreadyExists:
		return "AlreadyExists"
	case a.reason == metav1.StatusReasonServerTimeout:
		return "Timeout"
	}
	return map[int]string{
		400: "Rejected", 401: "Unauthorized", 403: "Forbidden", 405: "Rejected", 406: "Rejected", 409: "Conflict", 410: "Gone",
		413: "Rejected", 415: "Rejected", 422: "Invalid", 429: "TooManyRequests", 500: "Internal", 503: "Unavailable", 504: "Timeout",
	}[a.code]
}

// isAbout reports whether the details of a Status name the object of the call.
func isAbout(v verb, a tried) bool {
	return a.about == "the object" || a.about == "its kind by name" || a.about == "a subresource" && v.sub == "scale"
}

// absentIs is the oracle for a Status with code 404.
func absentIs(v verb, a tried, exists bool) string {
	d := details[a.about]
	switch {
	case d == nil || d.Name == "":
		return "NotServed"
	case v.list || !isAbout(v, a):
		return "Missing"
	case v.sub != "" && exists:
		return "NotServed"
	}
	return "NotFound"
}

// believed is the oracle for an answer that says that the call was made.
func believed(v verb, a tried) string {
	ok := map[string][]string{
		"object": {"the object"}, "scale": {"the scale"}, "list": {"the list"},
		"object or success": {"the object", "a success", "a success of the object"},
		"scale or success":  {"the scale", "a success", "a success of the object", "a success of another"},
		"list or success":   {"the list", "a list from elsewhere", "a success", "a success of the object", "a success of another"},
	}[v.wants]
	if v.name == "Feed.List" { // the reflector judges keys
		ok = append(ok, "a list from elsewhere")
	}
	for _, what := range ok {
		if a.what == what {
			return "ok"
		}
	}
	if strings.HasPrefix(v.name, "Feed.") && a.what != "" {
		return "any"
	}
	return "Response"
}

// repeats is the oracle for how often a call is sent, with two tries allowed.
func repeats(v verb, a tried) int {
	own := a.what == "a Status" && a.reason != ""
	busy := a.after != "" && (a.code == 429 || a.code == 503)
	switch {
	case a.code == 406 || a.code == 415: // once more, in JSON
		if v.method != "GET" && !own {
			return 1
		}
		return 2
	case strings.HasPrefix(v.name, "Feed."), !busy:
		return 1
	case v.method == "GET", own:
		return 2
	case a.code == 429 && a.audit && (a.what == "a busy server" || a.what == "a stopping server"):
		return 2
	}
	return 1
}

// kindOfError is the name of the type of an error in this package.
func kindOfError(err error) string {
	switch {
	case err == nil:
		return "ok"
	case is[*NotFoundError](err):
		return "NotFound"
	case is[*NotServedError](err):
		return "NotServed"
	case is[*MissingError](err):
		return "Missing"
	case is[*AlreadyExistsError](err):
		return "AlreadyExists"
	case is[*ConflictError](err):
		return "Conflict"
	case is[*InvalidError](err):
		return "Invalid"
	case is[*ForbiddenError](err):
		return "Forbidden"
	case is[*UnauthorizedError](err):
		return "Unauthorized"
	case is[*TooManyRequestsError](err):
		return "TooManyRequests"
	case is[*GoneError](err):
		return "Gone"
	case is[*TimeoutError](err):
		return "Timeout"
	case is[*UnavailableError](err):
		return "Unavailable"
	case is[*InternalError](err):
		return "Internal"
	case is[*RejectedError](err):
		return "Rejected"
	case is[*ResponseError](err):
		return "Response"
	}
	return fmt.Sprintf("%T", err)
}

// answering gives one answer to each request of a call, and another to a question for the object itself.
type answering struct {
	v      verb
	a      tried
	exists bool
	sent   atomic.Int64
}

func (s *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
	}
	rec := httptest.NewRecorder()
	if s.v.sub != "" && strings.HasSuffix(r.URL.Path, "/deployments/web") { // metadata only
		meta, code := `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"web","namespace":"shop"}}`, 200
		if !s.exists {
			st := apierrors.NewNotFound(appsv1.Resource("deployments"), "web").ErrStatus
			st.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			meta, code = asJSON(st), 404
		}
		text(code, "application/json", meta)(rec, r)
		return rec.Result(), nil
	}
	s.sent.Add(1)
	if s.a.after != "" {
		rec.Header().Set("Retry-After", s.a.after)
	}
	if s.a.audit {
		rec.Header().Set("Audit-Id", "0123")
	}
	text(s.a.code, s.a.ct, s.a.body)(rec, r)
	return rec.Result(), nil
}

// Every answer to every verb gives the error that the oracle names, and is sent again only as it allows. An
// error that says nothing about the object is never taken for its absence.
func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(webKind, meta.RESTScopeNamespace)
		all, bad := replies(), 0
		for _, v := range answerVerbs(t) {
			for _, a := range all {
				for _, exists := range []bool{false, true} {
					if exists && (v.sub == "" || a.code != 404) {
						continue
					}
					s := &answering{v: v, a: a, exists: exists}
					c := newFake(t).over(s, Options{Retries: 1, Scheme: testScheme, Mapper: mapper})
					err := v.call(c)
					problem := wrongAnswer(v, a, exists, err)
					if want := repeats(v, a); int(s.sent.Load()) != want {
						problem += fmt.Sprintf("; sent %d times, not %d", s.sent.Load(), want)
					}
					if problem == "" {
						continue
					}
					if bad++; bad <= 40 {
						t.Errorf("%s, exists %v: %v: %s", v.name, exists, a, problem)
					}
				}
			}
		}
		if bad > 0 {
			t.Errorf("%d cases are wrong", bad)
		}
	})
}

// wrongAnswer says what is wrong with the error of a call.
func wrongAnswer(v verb, a tried, exists bool, err error) string {
	want, got := told(v, a, exists), kindOfError(err)
	if want == "any" && err == nil {
		return "no error"
	}
	if want != "any" && got != want {
		return fmt.Sprintf("the caller is told %s (%v), not %s", got, err, want)
	}
	switch absent := want == "NotFound"; {
	case absent != (err != nil && IgnoreNotFound(err) == nil):
		return fmt.Sprintf("IgnoreNotFound gives %v for %v", IgnoreNotFound(err), err)
	case absent != apierrors.IsNotFound(err):
		return fmt.Sprintf("apimachinery takes %v for absence", err)
	}
	if noAnswer := errors.Is(err, object.ErrNoAnswer); (want == "Missing" || want == "NotServed" || want == "Response") != noAnswer &&
		(noAnswer == (want == "NotFound" || want == "AlreadyExists" || want == "Conflict" || want == "Invalid" || want == "Rejected") || want == "Missing") {
		return fmt.Sprintf("ErrNoAnswer is %v for %v", noAnswer, err)
	}
	if e, ok := errors.AsType[*UnavailableError](err); ok && e.Unsent && (a.what != "a Status" || a.reason == "" || a.after == "") {
		return "the request counts as not sent"
	}
	return ""
}
