package main

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/examples/migrating/cronjob/api"
	"github.com/flyball-io/flyball/internal/leaktest"
	_ "github.com/flyball-io/flyball/internal/simpart"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/sim"
	"github.com/flyball-io/flyball/webhook"
)

func TestMain(m *testing.M) { leaktest.Main(apiserver.Wrap(m)) }

// The program is right whatever goes wrong.
func TestSim(t *testing.T) {
	types := scheme.New()
	if err := api.AddToScheme(types); err != nil {
		t.Fatal(err)
	}
	defaulter, err := webhook.NewDefaulter(types, setDefaults, webhook.Options{})
	if err != nil {
		t.Fatal(err)
	}
	validator, err := webhook.NewValidator(types, validator, webhook.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hooks := http.NewServeMux()
	hooks.Handle(defaulter.Path(), defaulter)
	hooks.Handle(validator.Path(), validator)
	sim.Check(t, sim.Scenario{
		CRDs:     "../config/crd",
		Webhooks: hooks,
		Program: func(ctx context.Context, cfg *rest.Config) error {
			mgr, err := flyball.New(flyball.Options{Name: "cronjob", Config: cfg, Scheme: types, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				return err
			}
			if err := (&reconciler{client: mgr.Client(), live: mgr.Live()}).setup(mgr); err != nil {
				return err
			}
			return mgr.Run(ctx)
		},
		Steps: []sim.Step{
			sim.Apply("../testdata/webhooks.yaml", "../testdata/cronjob.yaml"), // which is due at midnight
			sim.Patch("cronjobs.batch.example.com/status", "default/a", `{"status":{"lastScheduleTime":"1999-12-30T00:00:00Z"}}`),
			sim.Patch("jobs.batch/status", "default/a-946684800", done),
			sim.Patch("cronjobs.batch.example.com", "default/a", `{"spec":{"successfulJobsHistoryLimit":0}}`),
			sim.Delete("cronjobs.batch.example.com", "default/a"),
		},
	})
}

// done is the status of a Job that has ended well.
const done = `{"status":{"startTime":"2000-01-01T00:00:00Z","completionTime":"2000-01-01T00:00:01Z","succeeded":1,
	"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}}`
