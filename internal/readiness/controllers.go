package readiness

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/ops/probe"
)

// ControllerChecks checks the controllers, by names of checks.
func (p Program) ControllerChecks(context.Context) map[string]error {
	all, waiting := map[string]error{}, p.waitingForConversion(time.Now())
	for name, c := range p.Controllers() {
		state := c.State()
		err := checkController(state)
		if why := p.whyExcused(c, state, waiting); err != nil && why != "" {
			err = &probe.ExcusedError{Why: why, Err: err}
		}
		all[CheckName("controller:"+name)] = err
	}
	return all
}

func checkController(s controller.State) error {
	switch {
	case s.Err != nil:
		return s.Err
	case s.Phase == controller.Syncing:
		return ErrNotSynced
	}
	return nil
}

// whyExcused is why a controller that is not in order is excused, empty if it is not. It is excused while it
// waits for kinds that are waiting for a conversion. In a program that serves webhooks it is also excused while its
// sources fail, or wait for a further cluster. Whatever else it waits for fails a check of its own.
func (p Program) whyExcused(c Controller, s controller.State, waiting map[schema.GroupKind]bool) string {
	_, fails := errors.AsType[*controller.FailingError](s.Err)
	_, elsewhere := errors.AsType[*ClusterError](s.Err)
	if (fails || elsewhere) && p.Serves() {
		return whyWebhooks
	}
	_, waits := errors.AsType[*controller.SyncError](s.Err)
	if len(waiting) == 0 || s.Phase != controller.Syncing && !waits {
		return ""
	}
	if slices.ContainsFunc(c.Kinds(), func(k schema.GroupKind) bool { return waiting[k] }) {
		return whyConversion
	}
	return ""
}
