package main

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flyball-io/flyball/examples/migrating/cronjob/api"
	"github.com/flyball-io/flyball/examples/migrating/cronjob/plan"
)

func setupWebhooks(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &api.CronJob{}).
		WithDefaulter(defaulter{}).
		WithValidator(validator{}).
		Complete()
}

type defaulter struct{}

func (defaulter) Default(_ context.Context, c *api.CronJob) error {
	plan.SetDefaults(c)
	return nil
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, c *api.CronJob) (admission.Warnings, error) {
	return nil, plan.Validate(c)
}

func (validator) ValidateUpdate(_ context.Context, _, c *api.CronJob) (admission.Warnings, error) {
	return nil, plan.Validate(c)
}

func (validator) ValidateDelete(context.Context, *api.CronJob) (admission.Warnings, error) {
	return nil, nil
}
