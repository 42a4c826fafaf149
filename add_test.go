package flyball

import (
	"context"
	"errors"
	"testing"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
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

func TestAddControllerTakesItsName(t *testing.T) {
	m := newAPI(t).manager(t, Options{})
	for _, every := range []bool{false, true} {
		c := namedController{name: "c", every: every}
		added, err := m.AddController(c)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.controllerSet()) != 1 {
			t.Errorf("EveryReplica %v: %d controllers", every, len(m.controllerSet()))
		}
		_, err = m.AddController(c)
		if _, ok := errors.AsType[*DuplicateNameError](err); !ok {
			t.Errorf("the same name: %v", err)
		}
		if err := added.Close(); err != nil || len(m.controllerSet()) != 0 {
			t.Errorf("after Close: %v, %d controllers", err, len(m.controllerSet()))
		}
	}
	if _, err := m.AddController(nil); !isOption(err, "controller") {
		t.Errorf("no controller: %v", err)
	}
}

// isOption reports whether err is an *option.Error about a field.
func isOption(err error, field string) bool {
	bad, ok := errors.AsType[*option.Error](err)
	return ok && bad.Field == field
}
