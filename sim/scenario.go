// Package sim tries, inside of go test, what can go wrong around an operator. It crashes, sees an old state, misses an
// event, or gets an error, at every point of a scenario where that is possible. The operator is the whole program, of any
// framework: a function of a [rest.Config].
//
//	func TestOperator(t *testing.T) {
//		sim.Check(t, sim.Scenario{
//			CRDs:    "config/crd",
//			Program: run, // func(context.Context, *rest.Config) error
//			Steps:   []sim.Step{sim.Apply("testdata/order.yaml"), sim.Delete("orders.shop.example.com", "default/a")},
//		})
//	}
//
// The program first runs through the steps without faults. After each step all comes to rest. Then it runs with a fault
// at each point of that run: after each step the state must be that of the run without faults.
//
// The server is the API server in memory, with the rules of the real one. Time is virtual. One plan of faults has one
// course of events, so a failure is repeated by one line.
package sim

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/sim/internal/world"
)

// Scenario is a program and what is done to it. Program and Steps are required.
type Scenario struct {
	// CRDs names a file of custom resource definitions, a folder, or a pattern, as apiserver.Options.CRDs does.
	CRDs string
	// Program is the whole program: it runs until ctx ends. It is called again after each crash, so it must make all that
	// it uses anew: managers, caches, queues. The config is the only way to the server. It must not listen: turn
	// metrics, probes and webhooks off, or give the handler of webhooks by Webhooks.
	Program func(ctx context.Context, cfg *rest.Config) error
	// Replicas is how many processes of Program run at the same time; zero means one. With several, Program has to elect
	// a leader by a Lease. Then each is cut off for longer than a lease, too, and one that has lost its lease must not
	// write.
	Replicas int
	// Others are further programs that run beside it, by name. Faults happen to them, too.
	Others map[string]func(ctx context.Context, cfg *rest.Config) error
	// Controllers are those of the cluster that run, such as "deployment", in the form of apiserver.Options.Controllers.
	// nil means the garbage collector alone: each cluster has it, and programs count on it. An empty list means none.
	Controllers []string
	// Webhooks answers the calls of all webhooks of admission and conversion. nil: they cannot be reached.
	Webhooks http.Handler
	// Steps are done one after the other, each when all is at rest.
	Steps []Step
	// Settled must hold at rest after each step.
	Settled []Invariant
	// Always must hold whenever something has changed. Its invariants are asked often.
	Always []Invariant
	// Ignore has fields that need not be as without faults: paths such as "status.lastSeen", with "*" for all members
	// or elements. With a kind and a space before it, a path is for that kind only: "Order status.tries".
	Ignore []string
	// Keep has resources whose objects may be left over or differ, such as "secrets", because the program keeps them on
	// purpose.
	Keep []string
	// Durable has resources whose objects must not be deleted more often than without faults, because that loses data.
	// nil means StatefulSets, PersistentVolumeClaims, PersistentVolumes, Namespaces and CustomResourceDefinitions.
	Durable []string
	// Corrects has resources whose objects the program keeps as it writes them, such as "deployments.apps". At the end of
	// each step somebody else changes a field that the program has written, each field once. The program has to notice,
	// and to write it again. Fields of the status are left alone.
	Corrects []string
	// Rest is how long nothing may be written until the next step. Zero means ten seconds of virtual time.
	Rest time.Duration
	// Heal is how much longer a state may differ after a fault. Zero means ten minutes of virtual time.
	Heal time.Duration
}

// Step is something that somebody does.
type Step struct {
	name string
	do   func(*resources, *world.User) error
}

// String says what the step does.
func (s Step) String() string { return s.name }
