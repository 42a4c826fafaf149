package client

import (
	"encoding/json"
	"net/http"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
)

const podPath = "/api/v1/namespaces/web/pods/x"

// widget is a custom resource as an unstructured object.
func widget() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(widgetJSON), &u.Object); err != nil {
		panic(err)
	}
	return u
}

// Each typed function sends the expected request, returns the answer, and does not change its arguments.
func TestWritesSendTheExpectedRequests(t *testing.T) {
	meta := meta1("x")
	for _, tt := range []struct {
		name string
		do   func(c *Live, p *corev1.Pod) (object.Object, error)
		want string // method, path, query
		ct   string // content type of the body
		body string // of a JSON body
	}{
		{
			"create", func(c *Live, p *corev1.Pod) (object.Object, error) { return Create(t.Context(), c, p) },
			"POST /api/v1/namespaces/web/pods ", "application/vnd.kubernetes.protobuf", "",
		}, {
			"create with options", func(c *Live, p *corev1.Pod) (object.Object, error) {
				return Create(t.Context(), c, p, DryRun{}, FieldOwner("me"), FieldValidation(metav1.FieldValidationStrict))
			},
			"POST /api/v1/namespaces/web/pods dryRun=All&fieldManager=me&fieldValidation=Strict", "application/vnd.kubernetes.protobuf", "",
		}, {
			"create unstructured", func(c *Live, p *corev1.Pod) (object.Object, error) { return Create(t.Context(), c, widget()) },
			"POST /apis/example.com/v1/namespaces/web/widgets ", "application/json", widgetJSON,
		}, {
			"update", func(c *Live, p *corev1.Pod) (object.Object, error) { return Update(t.Context(), c, p) },
			"PUT " + podPath + " ", "application/vnd.kubernetes.protobuf", "",
		}, {
			"update status", func(c *Live, p *corev1.Pod) (object.Object, error) { return UpdateStatus(t.Context(), c, p) },
			"PUT " + podPath + "/status ", "application/vnd.kubernetes.protobuf", "",
		}, {
			"update any subresource", func(c *Live, p *corev1.Pod) (object.Object, error) {
				return Update(t.Context(), c, p, Sub("ephemeralcontainers"))
			},
			"PUT " + podPath + "/ephemeralcontainers ", "application/vnd.kubernetes.protobuf", "",
		}, {
			"JSON patch", func(c *Live, p *corev1.Pod) (object.Object, error) {
				return Patch(t.Context(), c, p, JSONPatch(`[{"op":"remove","path":"/a"}]`))
			},
			"PATCH " + podPath + " ", "application/json-patch+json", `[{"op":"remove","path":"/a"}]`,
		}, {
			"merge patch of metadata", func(c *Live, p *corev1.Pod) (object.Object, error) {
				return Patch(t.Context(), c, meta, MergePatch(map[string]any{"metadata": nil}))
			},
			"PATCH " + podPath + " ", "application/merge-patch+json", `{"metadata":null}`,
		}, {
			"strategic merge", func(c *Live, p *corev1.Pod) (object.Object, error) {
				return PatchStatus(t.Context(), c, p, StrategicMerge([]byte(`{"status":{}}`)))
			},
			"PATCH " + podPath + "/status ", "application/strategic-merge-patch+json", `{"status":{}}`,
		}, {
			"apply", func(c *Live, p *corev1.Pod) (object.Object, error) { return Apply(t.Context(), c, p, "me", Force{}) },
			"PATCH " + podPath + " fieldManager=me&fieldValidation=Strict&force=true", "application/apply-patch+yaml",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"web","resourceVersion":"7","uid":"uid-1"},"spec":{}}`,
		}, {
			"apply unstructured", func(c *Live, p *corev1.Pod) (object.Object, error) {
				return Apply(t.Context(), c, widget(), "me", FieldValidation(metav1.FieldValidationWarn))
			},
			"PATCH /apis/example.com/v1/namespaces/web/widgets/w fieldManager=me&fieldValidation=Warn", "application/apply-patch+yaml", widgetJSON,
		}, {
			"apply metadata", func(c *Live, p *corev1.Pod) (object.Object, error) { return Apply(t.Context(), c, meta, "me") },
			"PATCH " + podPath + " fieldManager=me&fieldValidation=Strict", "application/apply-patch+yaml",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"web"}}`,
		}, {
			"delete", func(c *Live, p *corev1.Pod) (object.Object, error) { return nil, Delete(t.Context(), c, p) },
			"DELETE " + podPath + " ", "application/json", `{"kind":"DeleteOptions","apiVersion":"v1"}`,
		}, {
			"delete with options", func(c *Live, p *corev1.Pod) (object.Object, error) {
				return nil, Delete(t.Context(), c, p, IfUID("u"), DeleteOptions{
					Preconditions: &metav1.Preconditions{ResourceVersion: new("7")}, PropagationPolicy: new(metav1.DeletePropagationForeground), GracePeriodSeconds: new(int64(0)),
				}, DryRun{})
			},
			"DELETE " + podPath + " ", "application/json",
			`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u","resourceVersion":"7"},"propagationPolicy":"Foreground","dryRun":["All"]}`,
		}, {
			"delete all", func(c *Live, p *corev1.Pod) (object.Object, error) {
				return nil, DeleteAll[corev1.Pod](t.Context(), c, InNamespace("web"), MatchingLabels{"a": "b"}, DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
			},
			"DELETE /api/v1/namespaces/web/pods labelSelector=a%3Db", "application/json",
			`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan"}`,
		}, {
			"delete all of a kind", func(c *Live, p *corev1.Pod) (object.Object, error) {
				return nil, DeleteAll[unstructured.Unstructured](t.Context(), c, OfKind(widgetGVK))
			},
			"DELETE /apis/example.com/v1/widgets ", "application/json", `{"kind":"DeleteOptions","apiVersion":"v1"}`,
		}, {
			"set scale", func(c *Live, p *corev1.Pod) (object.Object, error) {
				return nil, SetScale(t.Context(), c, testobj.Deployment("web/d"), 3)
			},
			"PATCH /apis/apps/v1/namespaces/web/deployments/d/scale ", "application/merge-patch+json", `{"spec":{"replicas":3}}`,
		}, {
			"any subresource of its own kind", func(c *Live, p *corev1.Pod) (object.Object, error) {
				_, err := CreateSub(t.Context(), c, p, "token", &authenticationv1.TokenRequest{})
				return nil, err
			},
			"POST " + podPath + "/token ", "application/vnd.kubernetes.protobuf", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			// The answer has the kind of the request and a field of the server.
			f.on("DELETE "+podPath, answer(200, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"}))
			f.on("DELETE /api/v1/namespaces/web/pods", podList("9", "", "x"))
			f.on("DELETE /apis/example.com/v1/widgets", text(200, "application/json", `{"kind":"WidgetList","apiVersion":"example.com/v1","items":[]}`))
			f.on("POST "+podPath+"/eviction", answer(201, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"}))
			f.on("POST "+podPath+"/token", reply(&authenticationv1.TokenRequest{}, authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")))
			f.on("PATCH /apis/apps/v1/namespaces/web/deployments/d/scale", reply(&autoscalingv1.Scale{}, autoscalingv1.SchemeGroupVersion.WithKind("Scale")))
			served := pod("x")
			served.ResourceVersion = "8"
			for _, route := range []string{"POST /api/v1/namespaces/web/pods", "PUT " + podPath, "PUT " + podPath + "/status", "PUT " + podPath + "/ephemeralcontainers", "PATCH " + podPath, "PATCH " + podPath + "/status"} {
				f.on(route, reply(served, podGVK))
			}
			w := widget()
			w.SetResourceVersion("8")
			f.on("POST /apis/example.com/v1/namespaces/web/widgets", reply(w, widgetGVK))
			f.on("PATCH /apis/example.com/v1/namespaces/web/widgets/w", reply(w, widgetGVK))

			p := pod("x")
			got, err := tt.do(f.client(Options{}), p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(pod("x"), p); diff != "" {
				t.Errorf("the input changed:\n%s", diff)
			}
			if got != nil && got.GetResourceVersion() != "8" {
				t.Errorf("got version %q, want that of the server", got.GetResourceVersion())
			}
			a := f.last()
			if sent := a.method + " " + a.path + " " + a.query.Encode(); sent != tt.want {
				t.Errorf("sent %s, want %s", sent, tt.want)
			}
			if ct := a.header.Get("Content-Type"); ct != tt.ct {
				t.Errorf("content type %q, want %q", ct, tt.ct)
			}
			if tt.body != "" {
				if diff := cmp.Diff(decoded(t, tt.body), decoded(t, a.body)); diff != "" {
					t.Errorf("body:\n%s", diff)
				}
			}
		})
	}
}

func decoded(t *testing.T, s string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return v
}

// The options of a client apply to all its writes.
func TestClientOptionsApplyToAllWrites(t *testing.T) {
	f := newFake(t)
	f.on("POST /api/v1/namespaces/web/pods", reply(pod("x"), podGVK))
	f.on("PATCH "+podPath, reply(pod("x"), podGVK))
	c := f.client(Options{FieldOwner: "boss", DryRun: true})
	if _, err := Create(t.Context(), c, pod("x")); err != nil {
		t.Fatal(err)
	}
	if q := f.last().query.Encode(); q != "dryRun=All&fieldManager=boss" {
		t.Errorf("create: %s", q)
	}
	if _, err := Apply(t.Context(), c, pod("x"), ""); err != nil {
		t.Fatal(err)
	}
	if q := f.last().query.Encode(); q != "dryRun=All&fieldManager=boss&fieldValidation=Strict" {
		t.Errorf("apply: %s", q)
	}
}

func TestCreateKeys(t *testing.T) {
	f := newFake(t)
	f.on("POST /api/v1/namespaces/web/pods", reply(pod("x-7f"), podGVK))
	c := f.client(Options{})
	gen := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", GenerateName: "x-"}}
	if _, err := Create(t.Context(), c, gen); err != nil {
		t.Error(err)
	}
	n := f.count()
	for name, p := range map[string]*corev1.Pod{
		"no name":      {ObjectMeta: metav1.ObjectMeta{Namespace: "web"}},
		"no namespace": {ObjectMeta: metav1.ObjectMeta{Name: "x"}},
		"bad UTF-8":    {ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "x\xff"}},
		"bad label":    {ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "x", Labels: map[string]string{"a": "\xff"}}},
		"bad key":      {ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "x", Labels: map[string]string{"\xff": "a"}}},
		"bad spec":     {ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "x"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"", "\xff"}}}}},
	} {
		_, err := Create(t.Context(), c, p)
		if !is[*ArgumentError](err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if f.count() != n {
		t.Error("a request was sent")
	}
}

func TestInvalidTextNamesTheField(t *testing.T) {
	u := widget()
	u.Object["spec"] = map[string]any{"list": []any{"a", "b\xff"}}
	for want, o := range map[string]object.Object{
		"Spec.Containers[0].Args[1]":         &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"", "\xff"}}}}},
		"ObjectMeta.Labels[a]":               &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "\xff"}}},
		"Object[spec][list][1]":              u,
		"StringData[\"\\xff\"]":              &corev1.Secret{StringData: map[string]string{"\xff": ""}},
		"ObjectMeta.OwnerReferences[0].Name": &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Name: "\xff"}}}},
	} {
		e, ok := asType[*ArgumentError](checkText(o))
		if !ok || e.Argument != want {
			t.Errorf("got %v, want %s", e, want)
		}
	}
	if err := checkText(&corev1.Secret{Data: map[string][]byte{"a": {0xff}}}); err != nil {
		t.Errorf("bytes are not text: %v", err)
	}
}

// The answer to a Delete is the object, if that waits for its finalizers.
func TestDeleteAnswersWithObject(t *testing.T) {
	f := newFake(t)
	f.on("DELETE "+podPath, reply(pod("x"), podGVK))
	got, err := f.client(Options{}).Write(t.Context(), Op{Verb: verbDelete, Object: pod("x")})
	if err != nil || got.(*corev1.Pod).Name != "x" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestConflictOfApply(t *testing.T) {
	f := newFake(t)
	s := failureStatus(409, metav1.StatusReasonConflict)
	s.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: `conflict with "kubectl"`}}
	f.on("PATCH /apis/apps/v1/namespaces/web/deployments/d", answer(http.StatusConflict, s))
	_, err := Apply(t.Context(), f.client(Options{}), testobj.Deployment("web/d"), "me")
	e, ok := asType[*ConflictError](err)
	if !ok || len(e.Fields) != 1 || e.Fields[0].Field != ".spec.replicas" {
		t.Errorf("got %v", err)
	}
}

func TestScaleIsReadAsASubresource(t *testing.T) {
	f := newFake(t)
	f.on("GET /apis/apps/v1/namespaces/web/deployments/d/scale", reply(
		&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 4}}, autoscalingv1.SchemeGroupVersion.WithKind("Scale")))
	s, err := GetSub[autoscalingv1.Scale](t.Context(), f.client(Options{}), testobj.Deployment("web/d"), "scale")
	if err != nil || s.Spec.Replicas != 4 {
		t.Errorf("got %v, %v", s, err)
	}
}

// A wrapper of the Writer sees the whole Op with all options.
func TestWriterSeesOp(t *testing.T) {
	var seen []Op
	w := writerFunc(func(op Op) (object.Object, error) {
		seen = append(seen, op)
		return op.Object, nil
	})
	if _, err := Update(t.Context(), w, pod("x"), DryRun{}, Sub("status")); err != nil {
		t.Fatal(err)
	}
	if err := DeleteAll[corev1.Pod](t.Context(), w, InNamespace("web")); err != nil {
		t.Fatal(err)
	}
	if !seen[0].DryRun || seen[0].Subresource != "status" || seen[0].Verb != verbUpdate {
		t.Errorf("update: %+v", seen[0])
	}
	if _, ok := seen[1].Object.(*corev1.Pod); !ok || seen[1].Select.Namespace != "web" || seen[1].Verb != verbDeleteAll {
		t.Errorf("delete all: %+v", seen[1])
	}
}

// A subresource may answer with a Status and no object.
func TestSubresourceMayAnswerWithAStatus(t *testing.T) {
	f := newFake(t)
	f.on("POST "+podPath+"/binding", answer(201, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"}))
	b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "x"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	got, err := CreateSub(t.Context(), f.client(Options{}), pod("x"), "binding", b)
	if err != nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
	f.on("PUT "+podPath, answer(200, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"}))
	if _, err := Update(t.Context(), f.client(Options{}), pod("x")); err == nil {
		t.Error("an update without an object is no answer")
	}
}
