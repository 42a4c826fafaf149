package flyball_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net/http/httptest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/webhook"
)

// An operator: several replicas of which one leads, a webhook, metrics and probes, each turned on
// by a flag where it is deployed:
//
//	--leader-elect --metrics-addr=:8443 --probe-addr=:8081 --webhook-addr=:9443 --webhook-service=shop
func Example_operator() {
	o := flyball.Options{Name: "shop"}
	o.Bind(flag.CommandLine)
	flag.Parse()
	mgr, err := flyball.New(o)
	if err != nil {
		log.Fatal(err)
	}
	orders := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		_, err := client.Get[corev1.ConfigMap](ctx, mgr.Client(), req)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if _, err := controller.New(mgr, "orders", orders, controller.For[corev1.ConfigMap]()); err != nil {
		log.Fatal(err)
	}
	named := webhook.ValidatorFuncs[corev1.ConfigMap]{
		Create: func(_ context.Context, o *corev1.ConfigMap) ([]string, error) {
			if o.Data["customer"] == "" {
				return nil, field.Required(field.NewPath("data", "customer"), "who ordered it?")
			}
			return nil, nil
		},
	}
	if err := webhook.Validate[corev1.ConfigMap](mgr, named); err != nil {
		log.Fatal(err)
	}
	if err := mgr.Run(flyball.SignalContext()); err != nil {
		log.Fatal(err) // the lease was lost, or something failed
	}
}

// A controller that runs on every replica, the leader or not, as it looks after what is local to
// it. What it writes does not go through the fence of the election.
func Example_everyReplica() {
	var o flyball.Options
	o.Bind(flag.CommandLine)
	flag.Parse()
	mgr, err := flyball.New(o)
	if err != nil {
		log.Fatal(err)
	}
	prices := map[string]string{}
	learn := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		list, err := client.Get[corev1.ConfigMap](ctx, mgr.Unfenced(), req)
		if err == nil {
			prices[req.Name] = list.Data["price"]
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if _, err := controller.NewWith(mgr, "prices", learn, controller.Options{EveryReplica: true},
		controller.For[corev1.ConfigMap]()); err != nil {
		log.Fatal(err)
	}
	if err := mgr.Run(flyball.SignalContext()); err != nil {
		log.Fatal(err)
	}
}

// Functions that run beside the controllers: one on every replica, and one on the leader alone.
func ExampleManager_Add() {
	mgr, err := flyball.New(flyball.Options{Name: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	every := func(ctx context.Context, d time.Duration, f func()) error {
		for t := time.NewTicker(d); ; {
			select {
			case <-t.C:
				f()
			case <-ctx.Done():
				t.Stop()
				return nil
			}
		}
	}
	_, err = mgr.Add(flyball.Always, "heartbeat", func(ctx context.Context) error {
		return every(ctx, time.Minute, func() { log.Print("alive") })
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = mgr.Add(flyball.Lead, "report", func(ctx context.Context) error {
		return every(ctx, time.Hour, func() { log.Print("report") })
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := mgr.Run(flyball.SignalContext()); err != nil {
		log.Fatal(err)
	}
}

// What /readyz tells, with a check of the program's own. With Options.Probes it is served.
func ExampleManager_Ready() {
	mgr, err := flyball.New(flyball.Options{
		Config: &rest.Config{Host: "https://cluster.example.org"},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = mgr.Ready().Add("warehouse", func(context.Context) error { return errors.New("closed on Sundays") })
	if err != nil {
		log.Fatal(err)
	}
	answer := httptest.NewRecorder()
	mgr.Ready().Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/readyz", nil))
	fmt.Println(answer.Code)
	fmt.Print(answer.Body)
	// Output:
	// 503
	// [-]manager failed: does not run
	// [-]warehouse failed: closed on Sundays
	// readyz check failed
}

func ExampleOptions_Bind() {
	o := flyball.Options{Name: "shop", Probes: flyball.Endpoint{Addr: ":8081"}}
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	o.Bind(flags)
	if err := flags.Parse([]string{"--leader-elect", "--metrics-addr=:8443", "--namespaces=shop,web", "--log-level=debug", "--log-format=json"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.Leader != nil, o.Metrics.Addr, o.Probes.Addr, o.Cache.Namespaces)
	fmt.Println(o.Logger.Enabled(context.Background(), slog.LevelDebug))
	// Output:
	// true :8443 :8081 [shop web]
	// true
}
