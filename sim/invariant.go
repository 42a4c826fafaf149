package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/sim/internal/world"
)

// Invariant is something that must hold.
type Invariant struct {
	name  string
	holds func(core.View, *rest.Config) error
}

// check returns why the invariant does not hold in a state. A panic in it is such a reason, and none of the program.
func (i Invariant) check(v core.View) error {
	err := run.Safely(i.name, func() error { return i.holds(v, world.Reader(v)) })
	if p, ok := errors.AsType[*run.PanicError](err); ok {
		return fmt.Errorf("the invariant panicked: %v\n%s", p.Value, p.Stack)
	}
	return err
}

// String says what must hold.
func (i Invariant) String() string { return i.name }

// Ready says that each object of a resource, such as "orders.shop.example.com", has a condition Ready, Available or
// Established that is True.
func Ready(resource string) Invariant {
	plural, group, _ := strings.Cut(resource, ".")
	if group == "" {
		group = "core"
	}
	return Invariant{resource + " are ready", func(v core.View, _ *rest.Config) error {
		for o := range v.All("/" + group + "/" + plural + "/") {
			var doc struct {
				Metadata struct{ DeletionTimestamp *metav1.Time }
				Status   struct{ Conditions []metav1.Condition }
			}
			if err := json.Unmarshal(o.JSON, &doc); err != nil {
				return err
			}
			if doc.Metadata.DeletionTimestamp == nil && !ready(doc.Status.Conditions) {
				return fmt.Errorf("%s is not ready", strings.TrimPrefix(o.Key, "/"+group+"/"))
			}
		}
		return nil
	}}
}

func ready(conditions []metav1.Condition) bool {
	for _, c := range conditions {
		if (c.Type == "Ready" || c.Type == "Available" || c.Type == "Established") && c.Status == metav1.ConditionTrue {
			return true
		}
	}
	return false
}

// Holds says that a function returns nil. Its client reads the state at rest; it must not write.
func Holds(name string, check func(ctx context.Context, cfg *rest.Config) error) Invariant {
	return Invariant{name, func(_ core.View, cfg *rest.Config) error { return check(context.Background(), cfg) }}
}
