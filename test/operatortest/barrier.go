package operatortest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/object"
)

// nowhere is a URL without a server.
const nowhere = "https://127.0.0.1:1/"

// barrier returns when the API server has seen the webhook configurations that were applied before,
// with their CA. The API server learns of them one after the other and does not announce it. So
// barrier adds a further configuration that rejects one ConfigMap, and tries to create that until
// it is rejected.
func (op *Operator) barrier(ctx context.Context, calls []manifest.Object) error {
	seen := map[string]bool{}
	for _, o := range calls {
		kind := o.GetKind()
		if manifest.IsCRD(o) {
			if err := op.awaitConversion(ctx, o); err != nil {
				return fmt.Errorf("%s: the API server cannot convert: %w", manifest.Name(o), err)
			}
			continue
		}
		if seen[kind] {
			continue
		}
		seen[kind] = true
		if err := op.awaitSeen(ctx, kind); err != nil {
			return fmt.Errorf("%s: the API server does not see it: %w", kind, err)
		}
	}
	return nil
}

// awaitConversion returns when the API server has seen a CRD with its CA. It tries objects in the
// versions that are not stored, samples if there are any, until none causes an internal error.
// Other errors of these objects are ignored.
func (op *Operator) awaitConversion(ctx context.Context, crd manifest.Object) error {
	samples, err := op.read("samples")
	if err != nil {
		return err
	}
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		m, _ := v.(map[string]any)
		if m["served"] != true || m["storage"] == true {
			continue
		}
		name, _ := m["name"].(string)
		gvk := schema.GroupVersionKind{Group: group, Version: name, Kind: kind}
		probe := &unstructured.Unstructured{}
		if i := slices.IndexFunc(samples, func(o manifest.Object) bool { return o.GroupVersionKind() == gvk }); i >= 0 {
			probe = samples[i].DeepCopy()
		}
		probe.SetGroupVersionKind(gvk)
		probe.SetName("operatortest-" + op.Namespace)
		op.setNamespace(probe)
		err := until(ctx, func() error {
			_, err := client.Create(ctx, op.Client, probe, client.DryRun{})
			if broken := (*client.InternalError)(nil); errors.As(err, &broken) {
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var errAllowed = errors.New("the webhook allows an object that it must reject")

// awaitSeen adds a further configuration of a kind, and returns when it is in force.
func (op *Operator) awaitSeen(ctx context.Context, kind string) error {
	name := "operatortest-" + op.Namespace
	url, fail, none, scope := nowhere, admissionv1.Fail, admissionv1.SideEffectClassNone, admissionv1.NamespacedScope
	call := admissionv1.WebhookClientConfig{URL: &url}
	rules := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}, Scope: &scope},
	}}
	inNamespace := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: op.Namespace}}
	named := &metav1.LabelSelector{MatchLabels: map[string]string{"operatortest": kind}}
	meta := metav1.ObjectMeta{Name: name}
	hook := strings.ToLower(kind) + ".operatortest.local"
	var made object.Object
	if kind == "MutatingWebhookConfiguration" {
		made = &admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionv1.MutatingWebhook{{
			Name: hook, ClientConfig: call, Rules: rules, FailurePolicy: &fail, SideEffects: &none,
			NamespaceSelector: inNamespace, ObjectSelector: named, AdmissionReviewVersions: []string{"v1"},
		}}}
	} else {
		made = &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionv1.ValidatingWebhook{{
			Name: hook, ClientConfig: call, Rules: rules, FailurePolicy: &fail, SideEffects: &none,
			NamespaceSelector: inNamespace, ObjectSelector: named, AdmissionReviewVersions: []string{"v1"},
		}}}
	}
	if _, err := client.Create(ctx, op.Client, made); err != nil {
		return err
	}
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "operatortest-", Namespace: op.Namespace, Labels: named.MatchLabels}}
	err := until(ctx, func() error {
		_, err := client.Create(ctx, op.Client, probe, client.DryRun{})
		if broken := (*client.InternalError)(nil); errors.As(err, &broken) {
			return nil
		}
		if err == nil {
			err = errAllowed
		}
		return err
	})
	return errors.Join(err, client.Delete(context.WithoutCancel(ctx), op.Client, made))
}
