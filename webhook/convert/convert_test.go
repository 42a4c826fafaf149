package convert_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/test/webhooktest"
	"github.com/flyball-io/flyball/webhook"
	"github.com/flyball-io/flyball/webhook/convert"
)

func serve(h http.Handler, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, convert.Path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func request(desired string, objects ...string) string {
	return `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":"` + desired + `","objects":[` + strings.Join(objects, ",") + `]}}`
}

const meta = `"metadata":{"name":"a","namespace":"ns","uid":"1","resourceVersion":"7","generation":2,"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"l":"1"},"annotations":{"a":"<1>"},"finalizers":["f/f"],"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"2"}],"managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]}`

func form(version, rest string) string {
	return `{"kind":"Order","apiVersion":"shop.flyball.test/` + version + `",` + meta + `,` + rest + `}`
}

var forms = map[string]string{
	"v1": form("v1", `"spec":{"cents":1250,"items":["x","y"]}`),
	"v2": form("v2", `"spec":{"price":"12.50","items":[{"name":"x"},{"name":"y"}]}`),
	"v3": form("v3", `"total":1250,"lines":["x","y"]`),
}

// Every version converts to every other one, in the order of the request, with all metadata.
func TestEveryVersionConvertsToEveryOther(t *testing.T) {
	e := endpoint(t)
	for to, want := range forms {
		w := serve(e, request("shop.flyball.test/"+to, forms["v1"], forms["v2"], forms["v3"], forms["v2"]))
		wanted := `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"u","convertedObjects":[` +
			strings.Join([]string{want, want, want, want}, ",") + `],"result":{"metadata":{},"status":"Success"}}}`
		if w.Code != 200 || canon(t, w.Body.String()) != canon(t, wanted) {
			t.Errorf("to %s: %d\n%s\nwant\n%s", to, w.Code, w.Body, wanted)
		}
	}
	w := serve(e, strings.Replace(request("shop.flyball.test/v2"), "k8s.io/v1", "k8s.io/v1beta1", 1))
	if want := `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1","response":{"uid":"u","convertedObjects":[],"result":{"metadata":{},"status":"Success"}}}`; w.Body.String() != want {
		t.Errorf("none, v1beta1: %s", w.Body)
	}
}

func canon(t *testing.T, s string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func TestFailureNamesTheObject(t *testing.T) {
	e := endpoint(t)
	good := forms["v1"]
	for _, tt := range []struct {
		name, desired, object, says string
	}{
		{"conversion fails", "shop.flyball.test/v1", strings.Replace(forms["v2"], "12.50", "much", 1), `object 1, shop.flyball.test/v2 Order ns/a to shop.flyball.test/v1: spec.price: strconv.ParseInt: parsing "much": invalid syntax`},
		{"renames", "shop.flyball.test/v2", strings.Replace(good, `"name":"a"`, `"name":"renamed"`, 1), `changed metadata.name from "renamed" to "other"`},
		{"unknown version", "shop.flyball.test/v2", strings.Replace(good, "test/v1", "test/v9", 1), "does not know version v9"},
		{"unknown target", "shop.flyball.test/v9", good, "object 0, shop.flyball.test/v1 Order ns/a to shop.flyball.test/v9: this webhook does not know version v9"},
		{"another group", "other.test/v2", good, "groups differ"},
		{"unknown kind", "shop.flyball.test/v2", strings.Replace(good, `"Order"`, `"Bill"`, 1), "does not convert the kind"},
		{"bad target", "a/b/c", good, "desiredAPIVersion"},
		{"no object", "shop.flyball.test/v2", "null", "object 1"},
		{"a number", "shop.flyball.test/v2", "7", "not a JSON object"},
		{"a string for a number", "shop.flyball.test/v2", strings.Replace(good, "1250", `"x"`, 1), "cents"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := serve(e, request(tt.desired, good, tt.object))
			var r apiextensionsv1.ConversionReview
			if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Code != 200 {
				t.Fatalf("%d %s (%v)", w.Code, w.Body, err)
			}
			if res := r.Response.Result; res.Status != metav1.StatusFailure || !strings.Contains(res.Message, tt.says) || r.Response.UID != "u" || len(r.Response.ConvertedObjects) != 0 {
				t.Errorf("%s", w.Body)
			}
		})
	}
	w := serve(e, request("shop.flyball.test/v2", strings.Replace(good, `"name":"a"`, `"name":"panics"`, 1)))
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"uid":"u"`) {
		t.Errorf("panic: %d %s", w.Code, w.Body)
	}
}

// Fault 30 of docs/faults.md.
func TestMalformedReviewsAreRefused(t *testing.T) {
	e := endpoint(t)
	head := `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":`
	for _, tt := range []struct{ name, body, says string }{
		{"empty", ``, "EOF"},
		{"no JSON", `x`, "no ConversionReview"},
		{"another kind", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u"}}`, "AdmissionReview"},
		{"another version", strings.Replace(request("a/v1"), "k8s.io/v1", "k8s.io/v3", 1), "v3"},
		{"no request", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`, "no request"},
		{"no uid", head + `{"desiredAPIVersion":"a/v1"}}`, "no uid"},
		{"huge uid", head + `{"uid":"` + strings.Repeat("u", 200) + `"}}`, "more than 128 bytes"},
		{"no version", head + `{"uid":"u"}}`, "desiredAPIVersion"},
		{"objects is none", head + `{"uid":"u","objects":{}}}`, "want an array"},
		{"twice", head + `{"uid":"u","uid":"u"}}`, "twice"},
		{"more", request("a/v1") + "x", "data follows"},
		{"bomb", head + `{"uid":"u","objects":[` + strings.Repeat("[", 100000), "depth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := serve(e, tt.body)
			if w.Code != 400 || !strings.Contains(w.Body.String(), tt.says) || w.Body.Len() > 800 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

type bill struct{ orderV1 }

func (b *bill) DeepCopyObject() runtime.Object { c := *b; return &c }

func TestPartsAreChecked(t *testing.T) {
	hub, v2, v3 := parts()[1], parts()[0], parts()[2]
	s := orders()
	s.AddKnownTypeWithName(schema.GroupVersionKind{Group: group.Group, Version: "v1", Kind: "Bill"}, &bill{})
	for _, tt := range []struct {
		name  string
		parts []convert.Part
		says  []string
	}{
		{"none", nil, []string{"there are no parts"}},
		{"empty", []convert.Part{{}}, []string{"part 0 is empty"}},
		{"no hub", []convert.Part{v2, v3}, []string{"Order.shop.flyball.test has the spoke convert_test.orderV2, but no hub", "convert_test.orderV3, but no hub"}},
		{"two hubs", []convert.Part{hub, convert.Hub[orderV2](), v3}, []string{"has two hubs, convert_test.orderV1 and convert_test.orderV2"}},
		{"twice", []convert.Part{hub, v2, v2}, []string{"convert_test.orderV2 is given twice"}},
		{"hub and spoke", []convert.Part{hub, convert.Spoke[orderV1, orderV1](func(*orderV1, *orderV1) error { return nil }, func(*orderV1, *orderV1) error { return nil })}, []string{"is both hub and spoke"}},
		{"another hub", []convert.Part{convert.Hub[orderV3](), v2}, []string{"orderV2 converts to convert_test.orderV1, but the hub of Order.shop.flyball.test is convert_test.orderV3"}},
		{"of another kind", []convert.Part{convert.Hub[bill](), convert.Spoke[orderV2, bill](func(*orderV2, *bill) error { return nil }, func(*bill, *orderV2) error { return nil })}, []string{"Order.shop.flyball.test has the spoke convert_test.orderV2, but no hub"}},
		{"no function", []convert.Part{hub, convert.Spoke[orderV2, orderV1](v2ToHub, nil)}, []string{"orderV2 has no function from the hub"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := convert.New(s, convert.Options{}, tt.parts...)
			for _, says := range tt.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%v, want %q", err, says)
				}
			}
		})
	}
	if _, err := convert.New(runtime.NewScheme(), convert.Options{}, parts()...); err == nil || !strings.Contains(err.Error(), "orderV2") {
		t.Errorf("not in the scheme: %v", err)
	}
	if _, err := convert.New(nil, convert.Options{}, parts()...); err == nil {
		t.Error("no scheme, no error")
	}
	if _, err := convert.New(s, convert.Options{}, hub); err != nil {
		t.Errorf("a hub alone: %v", err)
	}
	if err := hub.ToHub(&orderV1{}, &orderV1{}); err == nil {
		t.Error("a hub was taken for a spoke")
	}
	if err := v2.ToHub(&orderV1{}, &orderV1{}); err == nil {
		t.Error("another type was taken for the spoke's")
	}
}

type manager struct {
	path  string
	h     http.Handler
	kinds []schema.GroupKind
	err   error
	done  int
}

func (m *manager) Scheme() *runtime.Scheme { return orders() }
func (m *manager) Logger() *slog.Logger    { return slog.New(slog.DiscardHandler) }
func (m *manager) Handle(path string, h http.Handler) error {
	m.path, m.h = path, h
	return m.err
}
func (m *manager) HandleConversion(path string, h http.Handler, kinds ...schema.GroupKind) error {
	m.kinds = kinds
	return m.Handle(path, h)
}
func (m *manager) WebhookBudget() *webhook.Budget { return nil }
func (m *manager) WebhookHooks() webhook.Hooks {
	return webhook.Hooks{Done: func(c webhook.Call) {
		if c.Denied {
			m.done++
		}
	}}
}

func TestServeRegistersWithTheManager(t *testing.T) {
	m := &manager{}
	if err := convert.Serve(m, parts()...); err != nil || m.path != "/convert" || len(m.kinds) != 1 || m.kinds[0].Group != "shop.flyball.test" {
		t.Fatal(err, m.path, m.kinds)
	}
	serve(m.h, request("shop.flyball.test/v1", "7"))
	if m.done != 1 {
		t.Error("a failed review is not counted")
	}
	m.err = errors.New("taken")
	if err := convert.Serve(m, parts()...); !errors.Is(err, m.err) {
		t.Error(err)
	}
	if err := convert.Serve(m); err == nil {
		t.Error("no error without parts")
	}
}

// This is the helper of scaffolded projects, on a conversion that loses nothing.
func FuzzRoundTripV2(f *testing.F) {
	webhooktest.RoundTrip(f, convert.Spoke[orderV2, orderV1](v2ToHub, v2FromHub), price)
}

func TestSpokeByMethodsLosesNothing(t *testing.T) {
	webhooktest.RoundTrip(t, convert.SpokeByMethods[orderV3, orderV1]())
}

func FuzzConversionReview(f *testing.F) {
	e := endpoint(f)
	f.Add([]byte(request("shop.flyball.test/v2", forms["v1"], forms["v3"])))
	f.Add([]byte(request("shop.flyball.test/v1", forms["v2"], `{}`, `null`)))
	f.Add([]byte(request("shop.flyball.test/v3", `{"kind":"Order","apiVersion":"shop.flyball.test/v2","metadata":{"name":"x"},"spec":{"price":"1.00"}}`)))
	f.Add([]byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1","request":{"uid":"\ud800","desiredAPIVersion":"//"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		w := serve(e, string(body))
		if w.Code == 400 && json.Valid(w.Body.Bytes()) {
			return
		}
		var in, out apiextensionsv1.ConversionReview
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Response == nil || out.Response.UID == "" {
			t.Fatalf("%d %s (%v)", w.Code, w.Body, err)
		}
		if w.Code == 500 && !strings.Contains(string(body), "panics") {
			t.Fatalf("%s", w.Body)
		}
		if err := json.Unmarshal(body, &in); err != nil || in.Request == nil || out.Response.Result.Status != metav1.StatusSuccess {
			return
		}
		if len(in.Request.Objects) != len(out.Response.ConvertedObjects) {
			t.Fatalf("%d objects became %d", len(in.Request.Objects), len(out.Response.ConvertedObjects))
		}
	})
}
