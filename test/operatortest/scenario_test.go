package operatortest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	_ "github.com/flyball-io/flyball/internal/simpart"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/sim"
	"github.com/flyball-io/flyball/webhook"
)

// The simulation of a program has its webhooks, and is of one namespace if the program is.
func TestScenario(t *testing.T) {
	tier.NotShort(t, "runs the rules of Kubernetes")
	var called atomic.Int64
	program := Program{
		Config: config(t), Namespaced: true,
		Add: func(m *flyball.Manager) error {
			_, err := controller.New(m, "copies", func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
				if _, err := client.Get[corev1.Secret](ctx, m.Client(), key); err != nil {
					return reconcile.Result{}, client.IgnoreNotFound(err)
				}
				made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{"replicas": "here"}}}
				if _, err := client.Create(ctx, m.Client(), made); err != nil && !apierrors.IsAlreadyExists(err) {
					return reconcile.Result{}, err
				}
				return reconcile.Result{}, nil
			}, controller.For[corev1.Secret]())
			return errors.Join(err, webhook.Validate[corev1.ConfigMap](m, webhook.ValidatorFuncs[corev1.ConfigMap]{
				Create: func(context.Context, *corev1.ConfigMap) ([]string, error) { called.Add(1); return nil, nil },
			}))
		},
	}
	s := program.Scenario(t, sim.ApplyText(`{apiVersion: v1, kind: Namespace, metadata: {name: other}}
---
{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default}}
---
{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: other}}`))
	s.Settled = []sim.Invariant{sim.Holds("the Secret of the namespace has its copy", func(ctx context.Context, cfg *rest.Config) error {
		c, err := client.New(cfg, client.Options{})
		if err != nil {
			return err
		}
		defer c.Close()
		var secrets, copies []string
		for o, err := range client.List[corev1.Secret](ctx, c, client.InNamespace("default")) {
			if err != nil {
				return err
			}
			secrets = append(secrets, o.Name)
		}
		for o, err := range client.List[corev1.ConfigMap](ctx, c) {
			if err != nil {
				return err
			}
			if o.Labels["replicas"] != "" {
				copies = append(copies, o.Namespace+"/"+o.Name)
			}
		}
		if len(copies) != len(secrets) || len(copies) == 1 && copies[0] != "default/a" {
			return fmt.Errorf("the Secrets %v have the copies %v", secrets, copies)
		}
		return nil
	})}
	sim.Check(t, s)
	if called.Load() == 0 {
		t.Error("the webhook was not called")
	}
}
