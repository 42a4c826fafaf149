package webhooktest

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A handler that is not from this package gets the request that an API server would send, and its
// answer is returned.
func TestAnyHandlerIsCalledAsByTheAPIServer(t *testing.T) {
	var seen admissionv1.AdmissionRequest
	patch := ""
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var rev admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&rev); err != nil {
			t.Error(err)
		}
		seen = *rev.Request
		rev.Response = &admissionv1.AdmissionResponse{UID: rev.Request.UID, Allowed: patch != "", Patch: []byte(patch), Warnings: []string{"w"}}
		if err := json.NewEncoder(w).Encode(&rev); err != nil {
			t.Error(err)
		}
	})
	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns"}}
	now := old.DeepCopy()
	now.Data = map[string]string{"k": "v"}
	kind := func(r *admissionv1.AdmissionRequest) {
		r.Kind = metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	}
	ctx := t.Context()

	if _, err := Create(ctx, h, now); !errors.Is(err, errNoKind) {
		t.Errorf("no kind: %v", err)
	}
	res, err := Update(ctx, h, old, now, kind, func(r *admissionv1.AdmissionRequest) {
		r.DryRun, r.UserInfo, r.SubResource = new(true), authenticationv1.UserInfo{Username: "me"}, "x"
	})
	if err != nil || res.Allowed || len(res.Warnings) != 1 || res.Object == now || res.Object.Data["k"] != "v" || res.Fields() != nil {
		t.Errorf("%+v, %v", res, err)
	}
	if seen.Operation != admissionv1.Update || !*seen.DryRun || seen.UserInfo.Username != "me" || seen.SubResource != "x" ||
		seen.Name != "a" || seen.Namespace != "ns" || len(seen.Object.Raw) <= len(seen.OldObject.Raw) || seen.Kind.Kind != "ConfigMap" {
		t.Errorf("it saw %+v", seen)
	}
	patch = `[{"op":"add","path":"/data/l","value":"w"}]`
	if res, err = Create(ctx, h, now, kind); err != nil || !res.Allowed || res.Object.Data["l"] != "w" || now.Data["l"] != "" || seen.OldObject.Raw != nil {
		t.Errorf("%+v, %v", res, err)
	}
	patch = `[{"op":"remove","path":"/nowhere"}]`
	if _, err = Create(ctx, h, now, kind); err == nil {
		t.Error("a patch that cannot be applied is no error")
	}
	patch = ""
	if res, err = Delete(ctx, h, now, kind); err != nil || res.Object != now || seen.Object.Raw != nil || seen.OldObject.Raw == nil {
		t.Errorf("%+v, %v", res, err)
	}
	_, err = Create(ctx, http.NotFoundHandler(), now, kind)
	if no, ok := errors.AsType[*NoVerdictError](err); !ok || no.Code != 404 {
		t.Errorf("%v", err)
	}
}
