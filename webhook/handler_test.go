package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/webhooktest"
	. "github.com/flyball-io/flyball/webhook"
)

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func quiet() Options { return Options{Logger: slog.New(slog.DiscardHandler)} }

func newThing(name string) *thing {
	o := &thing{}
	o.Name, o.Namespace = name, "ns"
	return o
}

func TestDefaulterPatchesOrDenies(t *testing.T) {
	e := must(NewDefaulter[thing](things(), Defaulter[thing](func(ctx context.Context, o *thing) error {
		switch o.Spec.Text {
		case "":
			o.Spec.Text = "default"
			Warn(ctx, "text is better given")
		case "bad":
			return field.Invalid(field.NewPath("spec", "text"), o.Spec.Text, "must not be bad")
		case "kind":
			o.Kind = "Other"
		}
		return nil
	}), quiet()))(t)
	if e.Path() != "/mutate-flyball-test-v1-thing" || !e.Mutating() || e.Kind() != thingKind {
		t.Errorf("%s %v %v", e.Path(), e.Mutating(), e.Kind())
	}
	ctx := t.Context()
	res := must(webhooktest.Create(ctx, e, newThing("a")))(t)
	if !res.Allowed || res.Object.Spec.Text != "default" || !slices.Equal(res.Warnings, []string{"text is better given"}) {
		t.Errorf("%+v", res)
	}
	if want := `[{"op":"add","path":"/spec/text","value":"default"}]`; string(res.Patch) != want {
		t.Errorf("patch %s", res.Patch)
	}
	if res = must(webhooktest.Update(ctx, e, newThing("a"), res.Object))(t); !res.Allowed || res.Patch != nil || res.Warnings != nil {
		t.Errorf("a second time: %+v", res)
	}
	if res = must(webhooktest.Delete(ctx, e, newThing("a")))(t); !res.Allowed || res.Patch != nil {
		t.Errorf("delete: %+v", res)
	}
	bad := newThing("a")
	bad.Spec.Text = "bad"
	if res = must(webhooktest.Create(ctx, e, bad))(t); res.Allowed || res.Status.Code != 422 || !slices.Equal(res.Fields(), []string{"spec.text"}) {
		t.Errorf("bad: %+v", res)
	}
	bad.Spec.Text = "kind"
	if _, err := webhooktest.Create(ctx, e, bad); !isNoVerdict(err, 500, "changed the kind") {
		t.Errorf("kind: %v", err)
	}
}

func isNoVerdict(err error, code int, says string) bool {
	no, ok := errors.AsType[*webhooktest.NoVerdictError](err)
	return ok && no.Code == code && strings.Contains(no.Body, says)
}

func TestValidatorAllowsOrDenies(t *testing.T) {
	var seen string
	e := must(NewValidator[thing](things(), ValidatorFuncs[thing]{
		Create: func(ctx context.Context, o *thing) ([]string, error) {
			r := RequestFrom(ctx)
			seen = fmt.Sprint(r.Operation, r.Name, r.Namespace, r.UserInfo.Username, r.DryRun, r.Kind.Kind, r.UID)
			return []string{"w"}, nil
		},
		Update: func(_ context.Context, old, o *thing) ([]string, error) {
			if old.Spec.Text != o.Spec.Text {
				return []string{"w"}, field.Forbidden(field.NewPath("spec", "text"), "is immutable")
			}
			return nil, nil
		},
		Delete: func(_ context.Context, o *thing) ([]string, error) {
			return nil, fmt.Errorf("%s is protected", o.Name)
		},
	}, quiet()))(t)
	if e.Path() != "/validate-flyball-test-v1-thing" || e.Mutating() {
		t.Errorf("%s %v", e.Path(), e.Mutating())
	}
	ctx := t.Context()
	res := must(webhooktest.Create(ctx, e, newThing("a"), func(r *admissionv1.AdmissionRequest) { r.DryRun = new(true) }))(t)
	if !res.Allowed || !slices.Equal(res.Warnings, []string{"w"}) || seen != fmt.Sprint("CREATE", "a", "ns", "webhooktest", true, "Thing", "webhooktest") {
		t.Errorf("%+v, saw %s", res, seen)
	}
	changed := newThing("a")
	changed.Spec.Text = "x"
	res = must(webhooktest.Update(ctx, e, newThing("a"), changed))(t)
	if res.Allowed || res.Status.Reason != metav1.StatusReasonInvalid || !slices.Equal(res.Fields(), []string{"spec.text"}) || len(res.Warnings) != 1 ||
		!strings.HasPrefix(res.Status.Message, `Thing.flyball.test "a" is invalid: spec.text: Forbidden: is immutable`) {
		t.Errorf("%+v", res.Status)
	}
	if res = must(webhooktest.Update(ctx, e, changed, changed))(t); !res.Allowed {
		t.Errorf("%+v", res)
	}
	res = must(webhooktest.Delete(ctx, e, newThing("a")))(t)
	if res.Allowed || res.Status.Code != 403 || res.Status.Message != "a is protected" {
		t.Errorf("%+v", res.Status)
	}
}

func TestOnlyNamedSubresourcesAreValidated(t *testing.T) {
	asked := 0
	v := ValidatorFuncs[thing]{Update: func(context.Context, *thing, *thing) ([]string, error) { asked++; return nil, errors.New("no") }}
	plain := must(NewValidator[thing](things(), v, quiet()))(t)
	o := quiet()
	o.SubResources = []string{"status"}
	status := must(NewValidator[thing](things(), v, o))(t)
	ctx := t.Context()
	a := newThing("a")
	if res := must(webhooktest.Update(ctx, plain, a, a, subresource("status")))(t); !res.Allowed || asked != 0 {
		t.Errorf("%+v", res)
	}
	if res := must(webhooktest.Update(ctx, status, a, a, subresource("status")))(t); res.Allowed || asked != 1 {
		t.Errorf("%+v", res)
	}
	scale := &autoscalingv1.Scale{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}}
	if res := must(webhooktest.Update(ctx, status, scale, scale, subresource("scale")))(t); !res.Allowed || asked != 1 {
		t.Errorf("%+v", res)
	}
	if _, err := webhooktest.Update(ctx, plain, scale, scale); !isNoVerdict(err, 400, "autoscaling/v1 Scale") {
		t.Errorf("another kind: %v", err)
	}
}

func TestDeniedStatusFollowsTheError(t *testing.T) {
	path := field.NewPath("spec", "size")
	list := field.ErrorList{field.Invalid(path, 11, "too many"), field.Required(field.NewPath("spec", "alias"), "")}
	req := &Request{Name: "x", Kind: thingKind}
	for _, tt := range []struct {
		name   string
		err    error
		code   int32
		fields string
		says   string
	}{
		{"plain", errors.New("no"), 403, "", "no"},
		{"one field", list[0], 422, "spec.size", "spec.size: Invalid value: 11: too many"},
		{"list", list.ToAggregate(), 422, "spec.size spec.alias", "spec.alias: Required value"},
		{"joined", errors.Join(list[0], list[1]), 422, "spec.size spec.alias", "too many"},
		{"joined with another", errors.Join(list[0], errors.New("and more")), 422, "spec.size ", "and more"},
		{"wrapped", fmt.Errorf("order 7: %w", list[0]), 422, "spec.size", "Invalid value: 11: order 7: too many"},
		{"of the API", apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "x", errors.New("later")), 409, "", "later"},
		{"of the API, wrapped", fmt.Errorf("look up: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "x")), 404, "", "not found"},
		{"nil", nil, 403, "", "denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Denied(req, tt.err, "w")
			var fields []string
			if r.Status.Details != nil {
				for _, c := range r.Status.Details.Causes {
					fields = append(fields, c.Field)
				}
			}
			if r.Allowed || r.Status.Code != tt.code || r.Status.Status != metav1.StatusFailure || strings.Join(fields, " ") != tt.fields ||
				!strings.Contains(r.Status.Message, tt.says) || len(r.Warnings) != 1 {
				t.Errorf("%+v %q", r.Status, fields)
			}
		})
	}
}

func TestFailingHandlerGivesNoVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := must(NewDefaulter[thing](things(), Defaulter[thing](func(ctx context.Context, o *thing) error {
			switch o.Name {
			case "failed":
				return fmt.Errorf("wrapped: %w", Failed(errors.New("no database")))
			case "late":
				<-ctx.Done()
				return ctx.Err()
			case "panic":
				panic("x")
			}
			return Failed(nil)
		}), quiet()))(t)
		for name, code := range map[string]int{"failed": 500, "late": 504, "panic": 500} {
			if _, err := webhooktest.Create(t.Context(), e, newThing(name)); !isNoVerdict(err, code, `"uid":"webhooktest"`) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if res := must(webhooktest.Create(t.Context(), e, newThing("fine")))(t); !res.Allowed {
			t.Errorf("%+v", res)
		}
	})
}

func TestRawHandlerAnswersWithItsResponse(t *testing.T) {
	patch := must(NewMutating(Handler(func(_ context.Context, r *Request) (Response, error) {
		switch r.Name {
		case "annotated":
			resp, err := PatchTo(r, []byte(`{"metadata":{"name":"annotated","namespace":"ns"},"kind":"ConfigMap","apiVersion":"v1","data":{"k":"v"}}`), "w")
			resp.AuditAnnotations = map[string]string{"b": "2", "a": "\x01"}
			return resp, err
		case "denied with a patch":
			return Response{Patch: []byte("[]")}, nil
		case "broken":
			return PatchTo(r, []byte(`{`))
		}
		return Response{}, nil
	}), Options{Name: "raw", Logger: quiet().Logger}))(t)
	cm := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
	}
	ctx := t.Context()
	res := must(webhooktest.Create(ctx, patch, cm("annotated")))(t)
	if !res.Allowed || res.Object.Data["k"] != "v" || string(res.Patch) != `[{"op":"add","path":"/data","value":{"k":"v"}}]` {
		t.Errorf("%+v", res)
	}
	if res = must(webhooktest.Create(ctx, patch, cm("zero")))(t); res.Allowed || res.Status.Code != 403 {
		t.Errorf("%+v", res)
	}
	for _, name := range []string{"denied with a patch", "broken"} {
		if _, err := webhooktest.Create(ctx, patch, cm(name)); !isNoVerdict(err, 500, "patch") {
			t.Errorf("%s: %v", name, err)
		}
	}
	validating := must(NewValidating(Handler(func(_ context.Context, r *Request) (Response, error) {
		return Response{Allowed: true, Patch: []byte("[]")}, nil
	}), Options{Name: "raw", Logger: quiet().Logger}))(t)
	if _, err := webhooktest.Create(ctx, validating, cm("x")); !isNoVerdict(err, 500, "not mutating") {
		t.Error(err)
	}
}

func TestUnstructuredObjectsAreHandled(t *testing.T) {
	o := quiet()
	o.Kind = thingKind
	u := must(NewDefaulter[unstructured.Unstructured](nil, Defaulter[unstructured.Unstructured](func(_ context.Context, o *unstructured.Unstructured) error {
		return unstructured.SetNestedField(o.Object, int64(3), "spec", "size")
	}), o))(t)
	res := must(webhooktest.Create(t.Context(), u, newThing("a")))(t)
	if !res.Allowed || *res.Object.Spec.Size != 3 || string(res.Patch) != `[{"op":"add","path":"/spec/size","value":3}]` {
		t.Errorf("%+v", res)
	}
	m := must(NewDefaulter[metav1.PartialObjectMetadata](nil, Defaulter[metav1.PartialObjectMetadata](func(_ context.Context, o *metav1.PartialObjectMetadata) error {
		o.Labels = map[string]string{"a": "b"}
		return nil
	}), o))(t)
	res = must(webhooktest.Create(t.Context(), m, newThing("a")))(t)
	if !res.Allowed || string(res.Patch) != `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]` {
		t.Errorf("%+v %s", res, res.Patch)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	d := Defaulter[thing](func(context.Context, *thing) error { return nil })
	wrong := quiet()
	wrong.Kind = schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Other"}
	for name, err := range map[string]error{
		"no scheme":       second(NewDefaulter[thing](nil, d, quiet())),
		"unknown kind":    second(NewDefaulter[thing](runtime.NewScheme(), d, quiet())),
		"untyped":         second(NewDefaulter[unstructured.Unstructured](things(), Defaulter[unstructured.Unstructured](nil), quiet())),
		"wrong kind":      second(NewDefaulter[thing](things(), d, wrong)),
		"no defaulter":    second(NewDefaulter[thing](things(), nil, quiet())),
		"no validator":    second(NewValidator[thing](things(), nil, quiet())),
		"no handler":      second(NewMutating(nil, quiet())),
		"nameless":        second(NewMutating(Handler(nil), quiet())),
		"two options":     Default(&manager{}, d, Options{}, Options{}),
		"path is refused": Validate(&manager{refuse: true}, ValidatorFuncs[thing]{}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := second(NewDefaulter[thing](runtime.NewScheme(), d, quiet())); !isUnknown(err) {
		t.Error(err)
	}
}

func isUnknown(err error) bool { _, ok := errors.AsType[*object.UnknownKindError](err); return ok }

func second[T any](_ T, err error) error { return err }

type manager struct {
	paths  []string
	refuse bool
	done   int
}

func (m *manager) Scheme() *runtime.Scheme { return things() }
func (m *manager) Logger() *slog.Logger    { return slog.New(slog.DiscardHandler) }
func (m *manager) Handle(path string, h http.Handler) error {
	if m.refuse {
		return errors.New("taken")
	}
	m.paths = append(m.paths, path)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	return nil
}
func (m *manager) WebhookBudget() *Budget { return nil }
func (m *manager) WebhookHooks() Hooks    { return Hooks{Done: func(Call) { m.done++ }} }

func TestWebhooksRegisterWithAManager(t *testing.T) {
	m := &manager{}
	if err := Default(m, Defaulter[thing](func(context.Context, *thing) error { return nil })); err != nil {
		t.Error(err)
	}
	if err := Validate(m, ValidatorFuncs[thing]{}, Options{}); err != nil {
		t.Error(err)
	}
	if !slices.Equal(m.paths, []string{"/mutate-flyball-test-v1-thing", "/validate-flyball-test-v1-thing"}) || m.done != 2 {
		t.Errorf("%v, counted %d", m.paths, m.done)
	}
}

// Fault 30 of docs/faults.md.
func TestMalformedReviewsAreRefused(t *testing.T) {
	e := must(NewValidator[thing](things(), ValidatorFuncs[thing]{Create: func(context.Context, *thing) ([]string, error) { return nil, nil }}, quiet()))(t)
	head := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":`
	for _, tt := range []struct{ name, body, uid, says string }{
		{"empty", ``, "", "EOF"},
		{"no JSON", `<html>`, "", "no AdmissionReview"},
		{"half", head + `{"uid":"u","operation":`, "u", "EOF"},
		{"an array", `[]`, "", "want an object"},
		{"more", head + `{"uid":"u","operation":"CREATE"}} {}`, "u", "data follows"},
		{"another kind", `{"apiVersion":"v1","kind":"Pod","request":{"uid":"u"}}`, "u", `kind "Pod"`},
		{"another version", `{"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview","request":{"uid":"u"}}`, "u", `v2`},
		{"no request", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, "", "no request"},
		{"null request", head + `null}`, "", "no request"},
		{"no uid", head + `{"operation":"CREATE"}}`, "", "no uid"},
		{"uid is a number", head + `{"uid":7}}`, "", "uid: want a string"},
		{"huge uid", head + `{"uid":"` + strings.Repeat("u", 1<<20) + `"}}`, "", "more than 128 bytes"},
		{"two uids", head + `{"uid":"u","uid":"v"}}`, "u", "twice"},
		{"two requests", head + `{"uid":"u"},"request":{"uid":"v"}}`, "u", "twice"},
		{"two objects", head + `{"uid":"u","object":{},"object":{}}}`, "u", "twice"},
		{"operation", head + `{"uid":"u","operation":"` + strings.Repeat("X", 9999) + `"}}`, "u", "unknown operation"},
		{"dry run", head + `{"uid":"u","dryRun":"yes"}}`, "u", "dryRun: want true or false"},
		{"bomb", head + `{"uid":"u","object":` + strings.Repeat(`{"a":`, 100000), "u", "depth"},
		{"not UTF-8", head + `{"uid":"u","name":"` + "\xff" + `"}}`, "u", "UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := serve(e, tt.body)
			var s metav1.Status
			if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || w.Code != 400 || !strings.Contains(s.Message, tt.says) || len(s.Message) > 500 {
				t.Errorf("%d %.500s (%v)", w.Code, w.Body, err)
			}
			uid := ""
			if s.Details != nil {
				uid = string(s.Details.UID)
			}
			if uid != tt.uid {
				t.Errorf("uid %q, want %q", uid, tt.uid)
			}
		})
	}
}

func serve(h http.Handler, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// An object that the Go type cannot hold is its sender's mistake: the webhook denies it.
func TestObjectsOfTheWrongTypeAreDenied(t *testing.T) {
	e := must(NewValidator[thing](things(), ValidatorFuncs[thing]{Create: func(context.Context, *thing) ([]string, error) { return nil, nil }}, quiet()))(t)
	for _, object := range []string{`null`, `7`, `[]`, `{"spec":{"zero":"x"}}`, `{"apiVersion":"v1","kind":"Pod"}`} {
		w := serve(e, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","kind":{"group":"flyball.test","version":"v1","kind":"Thing"},"object":`+object+`}}`)
		var r admissionv1.AdmissionReview
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || r.Response == nil || r.Response.Allowed || r.Response.UID != "u" || r.Response.Result.Code != 400 {
			t.Errorf("%s: %d %s", object, w.Code, w.Body)
		}
	}
}

func TestAnswerHasTheVersionOfItsReview(t *testing.T) {
	e := must(NewValidator[thing](things(), ValidatorFuncs[thing]{}, quiet()))(t)
	for _, v := range []string{"v1", "v1beta1"} {
		w := serve(e, `{"request":{"uid":"u\n","operation":"CONNECT","kind":{"group":"flyball.test","version":"v1","kind":"Thing"},"userInfo":{"username":"me","groups":["a"],"extra":{"k":["v"]}},"new":{}},"kind":"AdmissionReview","apiVersion":"admission.k8s.io/`+v+`"}`)
		if want := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/` + v + `","response":{"uid":"u\n","allowed":true}}`; w.Body.String() != want {
			t.Errorf("%s", w.Body)
		}
	}
}

func TestRequestFromIsNilOutsideAHandler(t *testing.T) {
	if RequestFrom(t.Context()) != nil {
		t.Error("a request from nowhere")
	}
	Warn(t.Context(), "not heard")
}

const reviewHead = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","kind":{"group":"flyball.test","version":"v1","kind":"Thing"},"object":`

var reviews = []string{
	reviewHead + `{"metadata":{"name":"a"},"spec":{"items":[{"name":"x","?":1}],"maybe":{"?":2}}}}}`,
	reviewHead + `{"metadata":{"name":"no"}},"dryRun":true,"userInfo":{"groups":["a",null]}}}`,
	reviewHead + `{"spec":null,"status":{"phase":"\ud800"}}}}`,
	`{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u","operation":"UPDATE","kind":{},"oldObject":{}}}`,
}

// greedy changes many fields of every thing.
func greedy(ctx context.Context, o *thing) error {
	o.Spec.Zero++
	o.Spec.Items = append([]item{{Name: "first"}}, o.Spec.Items...)
	o.Spec.Maybe.A += "x"
	if o.Name == "no" {
		return errors.New("no")
	}
	Warn(ctx, o.Spec.Text)
	return nil
}

// answersWell checks greedy's answer to any input.
func answersWell(t *testing.T, e *Endpoint, body []byte) {
	w := serve(e, string(body))
	if w.Code != 200 {
		var s metav1.Status
		if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || s.Code != 400 {
			t.Fatalf("%s: %d %s (%v)", body, w.Code, w.Body, err)
		}
		return
	}
	var in, out admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Response == nil || out.Response.UID == "" {
		t.Fatalf("%s: %s (%v)", body, w.Body, err)
	}
	if err := json.Unmarshal(body, &in); err != nil || len(out.Response.Patch) == 0 || hasTwice(in.Request.Object.Raw) {
		return
	}
	result := applied(t, out.Response.Patch, in.Request.Object.Raw)
	if before, err := decodeThing(in.Request.Object.Raw); err == nil {
		if after, err := decodeThing(result); err != nil || after.Spec.Zero != before.Spec.Zero+1 || len(after.Spec.Items) != len(before.Spec.Items)+1 {
			t.Fatalf("%s of %s makes %s (%v)", out.Response.Patch, in.Request.Object.Raw, result, err)
		}
	}
}

func FuzzAdmissionReview(f *testing.F) {
	e, err := NewDefaulter[thing](things(), Defaulter[thing](greedy), quiet())
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range reviews {
		f.Add([]byte(r))
	}
	f.Fuzz(func(t *testing.T, body []byte) { answersWell(t, e, body) })
}

// Reviews are truncated, duplicated, swapped and overwritten at random.
func TestMangledReviewsAreAnswered(t *testing.T) {
	e := must(NewDefaulter[thing](things(), Defaulter[thing](greedy), quiet()))(t)
	n := 2000
	if os.Getenv("FLYBALL_LONG") != "" {
		n = 100_000
	}
	tokens := []string{`{`, `}`, `[`, `]`, `,`, `:`, `"`, `null`, `{}`, `[]`, `"uid"`, `"object"`, `1e9`, `-`, `\u`, "\xff", ` `, `"name":"no"`, `{"?":1}`}
	for i := range n {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		b := []byte(reviews[r.IntN(len(reviews))])
		for range 1 + r.IntN(3) {
			from := r.IntN(len(b))
			to := min(len(b), from+r.IntN(20))
			switch r.IntN(4) {
			case 0:
				b = slices.Delete(b, from, to)
			case 1:
				b = slices.Insert(b, r.IntN(len(b)), slices.Clone(b[from:to])...)
			case 2:
				b = slices.Insert(b, from, []byte(tokens[r.IntN(len(tokens))])...)
			default:
				b[from] = byte(r.Uint32())
			}
		}
		answersWell(t, e, b)
	}
}

func subresource(name string) func(*admissionv1.AdmissionRequest) {
	return func(r *admissionv1.AdmissionRequest) { r.SubResource = name }
}
