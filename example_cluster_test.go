package flyball_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/ops/serve"
	"github.com/flyball-io/flyball/reconcile"
)

// How does one program work on two clusters? This one copies the ConfigMaps of the east into its own cluster.
func ExampleManager_Cluster() {
	mgr, err := flyball.New(flyball.Options{Name: "mirror", Config: &rest.Config{Host: "https://home.example.org"}})
	if err != nil {
		log.Fatal(err)
	}
	east, err := mgr.Cluster("east", flyball.Options{Config: &rest.Config{Host: "https://east.example.org"}})
	if err != nil {
		log.Fatal(err)
	}
	mirror := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		from, err := client.Get[corev1.ConfigMap](ctx, east.Client(), req) // from the cache of that cluster
		if err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		to := &corev1.ConfigMap{Data: from.Data}
		to.Namespace, to.Name = from.Namespace, from.Name
		_, err = client.Apply(ctx, mgr.Client(), to, "mirror")
		return reconcile.Result{}, err
	}
	c, err := controller.New(mgr, "mirror", mirror,
		controller.For[corev1.ConfigMap](),                              // repairs a copy that was changed
		controller.Watches[corev1.ConfigMap](handler.Self()).From(east)) // makes one
	if err != nil {
		log.Fatal(err)
	}
	for _, kind := range c.Kinds(east) {
		fmt.Println("in the east:", kind.GetObjectKind().GroupVersionKind().Kind)
	}
	// mgr.Run(ctx) runs the caches of both, and the controller.
	// Output:
	// in the east: ConfigMap
}

// How do I serve a page of my own beside the metrics, to the same users?
func ExampleManager_HandlePage() {
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"major":"1","minor":"36"}`)
	}))
	defer cluster.Close()
	mgr, err := flyball.New(flyball.Options{
		Config: &rest.Config{Host: cluster.URL}, Logger: slog.New(slog.DiscardHandler),
		Metrics: flyball.Endpoint{Addr: "127.0.0.1:0"}, // :8443 where it is deployed
	})
	if err != nil {
		log.Fatal(err)
	}
	err = mgr.HandlePage("/orders", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "7 orders wait") }))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	_, err = mgr.Add(flyball.Always, "visitor", func(context.Context) error {
		defer stop()
		answer, err := http.Get("http://" + mgr.Addrs().Metrics.String() + "/orders")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		fmt.Println(answer.StatusCode, string(page))
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mgr.Run(ctx))
	// Output:
	// 200 7 orders wait
	// <nil>
}

// How do I set the versions of TLS, timeouts and bounds of a server?
func ExampleEndpoint() {
	_, err := flyball.New(flyball.Options{
		Config: &rest.Config{Host: "https://cluster.example.org"},
		Metrics: flyball.Endpoint{Addr: ":8443", Configure: func(s *serve.Options) {
			fmt.Println(s.Name, "had", s.HandlerTimeout)
			s.TLS.MinVersion = tls.VersionTLS13
			s.MaxConnections = 20
		}},
	})
	fmt.Println(err)
	// Output:
	// metrics had 2m0s
	// <nil>
}
