package metrics_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyball-io/flyball/controller"
)

// How do I expose the metrics of a controller, and metrics of my own?
func Example() {
	m := newMetrics() // metrics.New
	orders := prometheus.NewCounter(prometheus.CounterOpts{Name: "shop_orders_total", Help: "Orders taken."})
	if err := m.Registerer().Register(orders); err != nil {
		fmt.Println(err)
		return
	}
	hooks := m.Controller("order", 4)                       // controller.Options.Hooks
	remove, err := m.AddController(&working{name: "order"}) // a *controller.Controller
	if err != nil {
		fmt.Println(err)
		return
	}
	hooks.Reconciled(controller.Reconciled{Outcome: controller.Success, Took: time.Millisecond})
	orders.Inc()

	show := func() {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for line := range strings.Lines(w.Body.String()) {
			for _, name := range []string{"shop_", "controller_runtime_reconcile_total", "workqueue_depth"} {
				if strings.HasPrefix(line, name) {
					fmt.Print(line)
				}
			}
		}
	}
	show()
	remove()
	show()
	// Output:
	// controller_runtime_reconcile_total{controller="order",result="error"} 0
	// controller_runtime_reconcile_total{controller="order",result="requeue"} 0
	// controller_runtime_reconcile_total{controller="order",result="requeue_after"} 0
	// controller_runtime_reconcile_total{controller="order",result="success"} 1
	// shop_orders_total 1
	// workqueue_depth{controller="order",name="order",priority="0"} 0
	// shop_orders_total 1
}
