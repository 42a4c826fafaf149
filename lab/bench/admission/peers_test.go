package admission

import (
	"context"
	"errors"
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/webhook"
	peer "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// handlers are the webhooks of a contender.
type handlers struct {
	defaultDeployment, validateDeployment, defaultConfigMap, validateConfigMap http.Handler
}

// These are the webhooks' functions, the same for all contenders.

var errReplicas = errors.New("spec.replicas: more than 100")

func defaultDeployment(d *appsv1.Deployment) {
	if d.Spec.RevisionHistoryLimit == nil {
		limit := int32(2)
		d.Spec.RevisionHistoryLimit = &limit
	}
	d.Labels["example.org/defaulted"] = "true"
}

func validateDeployment(d *appsv1.Deployment) error {
	if *d.Spec.Replicas > 100 {
		return errReplicas
	}
	return nil
}

func defaultConfigMap(c *corev1.ConfigMap) { c.Data["defaulted"] = "true" }

func validateConfigMap(c *corev1.ConfigMap) error {
	if c.Data["note"] == "" {
		return errors.New("data.note: missing")
	}
	return nil
}

type peerDefaulter[T runtime.Object] func(T)

func (f peerDefaulter[T]) Default(_ context.Context, obj T) error { f(obj); return nil }

type peerValidator[T runtime.Object] func(T) error

func (f peerValidator[T]) ValidateCreate(_ context.Context, obj T) (peer.Warnings, error) {
	return nil, f(obj)
}
func (f peerValidator[T]) ValidateUpdate(_ context.Context, _, obj T) (peer.Warnings, error) {
	return nil, f(obj)
}
func (f peerValidator[T]) ValidateDelete(context.Context, T) (peer.Warnings, error) { return nil, nil }

// flyball returns this project's webhooks, with its defaults.
func flyball(t testing.TB) handlers {
	s := scheme.New()
	serve := func(e *webhook.Endpoint, err error) http.Handler {
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	return handlers{
		defaultDeployment:  serve(webhook.NewDefaulter(s, webhook.Defaulter[appsv1.Deployment](func(_ context.Context, d *appsv1.Deployment) error { defaultDeployment(d); return nil }), webhook.Options{})),
		validateDeployment: serve(webhook.NewValidator(s, flyballValidator(validateDeployment), webhook.Options{})),
		defaultConfigMap:   serve(webhook.NewDefaulter(s, webhook.Defaulter[corev1.ConfigMap](func(_ context.Context, c *corev1.ConfigMap) error { defaultConfigMap(c); return nil }), webhook.Options{})),
		validateConfigMap:  serve(webhook.NewValidator(s, flyballValidator(validateConfigMap), webhook.Options{})),
	}
}

func flyballValidator[T any](f func(*T) error) webhook.Validator[T] {
	return webhook.ValidatorFuncs[T]{
		Create: func(_ context.Context, obj *T) ([]string, error) { return nil, f(obj) },
		Update: func(_ context.Context, _, obj *T) ([]string, error) { return nil, f(obj) },
	}
}

// controllerRuntime returns the webhooks of that contender, with its own defaults.
func controllerRuntime(t testing.TB) handlers {
	s := clientgoscheme.Scheme
	serve := func(w *peer.Webhook) http.Handler {
		h, err := peer.StandaloneWebhook(w, peer.StandaloneOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	return handlers{
		defaultDeployment:  serve(peer.WithDefaulter[*appsv1.Deployment](s, peerDefaulter[*appsv1.Deployment](defaultDeployment))),
		validateDeployment: serve(peer.WithValidator[*appsv1.Deployment](s, peerValidator[*appsv1.Deployment](validateDeployment))),
		defaultConfigMap:   serve(peer.WithDefaulter[*corev1.ConfigMap](s, peerDefaulter[*corev1.ConfigMap](defaultConfigMap))),
		validateConfigMap:  serve(peer.WithValidator[*corev1.ConfigMap](s, peerValidator[*corev1.ConfigMap](validateConfigMap))),
	}
}
