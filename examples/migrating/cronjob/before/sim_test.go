package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/examples/migrating/cronjob/api"
	"github.com/flyball-io/flyball/internal/leaktest"
	_ "github.com/flyball-io/flyball/internal/simpart"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/sim"
)

func TestMain(m *testing.M) { leaktest.Main(apiserver.Wrap(m)) }

// The program of controller-runtime is right whatever goes wrong, but for what TestJobIsMadeTwice has.
func TestSim(t *testing.T) { sim.Check(t, scenario(t)) }

// A known bug: a program that starts on a view from before a Job was made, when the Job has run and gone, makes it
// again. The last time of the schedule is in the status of the CronJob, which that view has not yet.
func TestJobIsMadeTwice(t *testing.T) {
	if os.Getenv(again) != "" {
		s := scenario(t)
		s.Steps = slices.Insert(s.Steps, 3, sim.Patch("cronjobs.batch.example.com", "default/a", `{"spec":{"successfulJobsHistoryLimit":0}}`))
		sim.Check(t, s)
		return
	}
	tier.NotShort(t, "starts another process")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestJobIsMadeTwice$", "-sim.replay=stale~4@2:ADDED:jobs.batch/default/a-946684800")
	cmd.Env = append(os.Environ(), again+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "jobs.batch/default/a-946684800 is left over") {
		t.Fatalf("the bug is no longer found: %v\n%s", err, out)
	}
}

// again is set for the process that has the bug.
const again = "CRONJOB_MADE_TWICE"

func scenario(t *testing.T) sim.Scenario {
	ctrl.SetLogger(logr.Discard())
	types, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	hooks := http.NewServeMux()
	hooks.Handle("/mutate-batch-example-com-v1-cronjob", admission.WithDefaulter(types, defaulter{}))
	hooks.Handle("/validate-batch-example-com-v1-cronjob", admission.WithValidator(types, validator{}))
	return sim.Scenario{
		CRDs:     "../config/crd",
		Program:  program,
		Webhooks: hooks,
		Steps: []sim.Step{
			sim.Apply("../testdata/webhooks.yaml", "../testdata/cronjob.yaml"), // which is due at midnight
			sim.Patch("cronjobs.batch.example.com/status", "default/a", `{"status":{"lastScheduleTime":"1999-12-30T00:00:00Z"}}`),
			sim.Patch("jobs.batch/status", "default/a-946684800", done),
			sim.Delete("cronjobs.batch.example.com", "default/a"),
		},
	}
}

// done is the status of a Job that has ended well.
const done = `{"status":{"startTime":"2000-01-01T00:00:00Z","completionTime":"2000-01-01T00:00:01Z","succeeded":1,
	"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}}`

func newScheme() (*runtime.Scheme, error) {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(types); err != nil {
			return nil, err
		}
	}
	return types, nil
}

func program(ctx context.Context, cfg *rest.Config) error {
	types, err := newScheme()
	if err != nil {
		return err
	}
	again := true // the program starts many times in one process
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Scheme: types, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &again}})
	if err != nil {
		return err
	}
	if err := (&reconciler{Client: mgr.GetClient(), scheme: mgr.GetScheme()}).setup(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
