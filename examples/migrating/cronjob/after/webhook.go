package main

import (
	"context"

	"github.com/flyball-io/flyball/webhook"

	"github.com/flyball-io/flyball/examples/migrating/cronjob/api"
	"github.com/flyball-io/flyball/examples/migrating/cronjob/plan"
)

func setupWebhooks(mgr webhook.Manager) error {
	if err := webhook.Default(mgr, setDefaults); err != nil {
		return err
	}
	return webhook.Validate(mgr, validator)
}

var validator = webhook.ValidatorFuncs[api.CronJob]{
	Create: validate,
	Update: func(ctx context.Context, _, c *api.CronJob) ([]string, error) { return validate(ctx, c) },
}

func setDefaults(_ context.Context, c *api.CronJob) error {
	plan.SetDefaults(c)
	return nil
}

func validate(_ context.Context, c *api.CronJob) ([]string, error) { return nil, plan.Validate(c) }
