package flyball

import (
	"context"
	"errors"
	"testing"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/object"
)

// namedController is a controller with a name and a place to run.
type namedController struct {
	controller.Interface
	name  string
	every bool
}

func (c namedController) Name() string                                     { return c.name }
func (c namedController) EveryReplica() bool                               { return c.every }
func (c namedController) Run(context.Context) error                        { return nil }
func (c namedController) OptionalKinds(controller.Manager) []object.Object { return nil }

func TestAddControllerRunsInLeadOrOnEveryReplica(t *testing.T) {
	m := newAPI(t).manager(t, Options{})
	for every, want := range map[bool]Phase{false: Lead, true: Always} {
		c := namedController{name: "c", every: every}
		added, err := m.AddController(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.life.members["c"].phase; got != want || len(m.controllerSet()) != 1 {
			t.Errorf("EveryReplica %v: phase %s, %d controllers", every, got, len(m.controllerSet()))
		}
		_, err = m.AddController(c)
		if _, ok := errors.AsType[*DuplicateNameError](err); !ok {
			t.Errorf("the same name: %v", err)
		}
		if err := added.Close(); err != nil || m.life.members["c"] != nil || len(m.controllerSet()) != 0 {
			t.Errorf("after Close: %v, %d controllers", err, len(m.controllerSet()))
		}
	}
	if _, err := m.AddController(nil); !isOption(err, "controller") {
		t.Errorf("no controller: %v", err)
	}
}
