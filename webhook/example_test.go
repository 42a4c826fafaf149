package webhook_test

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/test/webhooktest"
	"github.com/flyball-io/flyball/webhook"
)

var discard = webhook.Options{Logger: slog.New(slog.DiscardHandler)}

// How do I set defaults?
func ExampleNewDefaulter() {
	h, err := webhook.NewDefaulter[corev1.ConfigMap](scheme.New(), webhook.Defaulter[corev1.ConfigMap](
		func(ctx context.Context, cm *corev1.ConfigMap) error {
			if cm.Labels["owner"] == "" {
				metav1.SetMetaDataLabel(&cm.ObjectMeta, "owner", webhook.RequestFrom(ctx).UserInfo.Username)
				webhook.Warn(ctx, "label owner was set")
			}
			return nil
		}), discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.Path())
	// Call it as the API server would.
	res, err := webhooktest.Create(context.Background(), h, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	fmt.Println(res.Allowed, res.Object.Labels, res.Warnings, err)
	fmt.Printf("%s\n", res.Patch)
	// Output:
	// /mutate--v1-configmap
	// true map[owner:webhooktest] [label owner was set] <nil>
	// [{"op":"add","path":"/metadata/labels","value":{"owner":"webhooktest"}}]
}

// How do I reject objects, changes and deletions?
func ExampleNewValidator() {
	immutable := func(_ context.Context, old, cm *corev1.ConfigMap) ([]string, error) {
		if old.Data["region"] != cm.Data["region"] {
			return nil, field.Forbidden(field.NewPath("data").Key("region"), "is immutable")
		}
		return nil, nil
	}
	protected := func(_ context.Context, cm *corev1.ConfigMap) ([]string, error) {
		if cm.Annotations["protected"] == "true" {
			return nil, fmt.Errorf("%s is protected", cm.Name)
		}
		return nil, nil
	}
	h, err := webhook.NewValidator[corev1.ConfigMap](scheme.New(), webhook.ValidatorFuncs[corev1.ConfigMap]{Update: immutable, Delete: protected}, discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"protected": "true"}}, Data: map[string]string{"region": "eu"}}
	changed := old.DeepCopy()
	changed.Data["region"] = "us"
	res, err := webhooktest.Update(ctx, h, old, changed)
	fmt.Println(res.Allowed, res.Status.Code, res.Fields(), res.Status.Message, err)
	res, err = webhooktest.Delete(ctx, h, old)
	fmt.Println(res.Allowed, res.Status.Code, res.Status.Message, err)
	// Output:
	// false 422 [data[region]] ConfigMap "a" is invalid: data[region]: Forbidden: is immutable <nil>
	// false 403 a is protected <nil>
}
