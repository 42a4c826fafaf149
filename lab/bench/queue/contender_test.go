package queue

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clientgo "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/workqueue"
)

type key = object.Key

// contender is a queue of keys. get blocks until there is one.
type contender interface {
	add(k key, priority int) // client-go's has no priorities
	addAfter(k key, d time.Duration)
	get() key
	done(k key)
	settle(n int) // returns when n keys wait
	close()
}

// adder is a contender that takes several keys at a time.
type adder interface {
	addAll(keys []key, priorities int)
}

// nexter is a contender whose workers finish a key and get another in one step.
type nexter interface {
	next(done key) key
}

var contenders = []struct {
	name string
	open func(testing.TB) contender
}{
	{"flyball", openFlyball},
	{"client-go", openClientGo},
	{"controller-runtime", openControllerRuntime},
}

type flyball struct {
	*workqueue.Queue[key, struct{}]
	adds []workqueue.Add[key, struct{}]
}

func openFlyball(t testing.TB) contender {
	q, err := workqueue.New(workqueue.Options[key, struct{}]{})
	if err != nil {
		t.Fatal(err)
	}
	return &flyball{Queue: q}
}

func (q *flyball) add(k key, p int) { q.AddWith(k, workqueue.AddOptions[struct{}]{Priority: p}) }
func (q *flyball) addAfter(k key, d time.Duration) {
	q.AddWith(k, workqueue.AddOptions[struct{}]{After: d})
}
func (q *flyball) addAll(keys []key, priorities int) {
	q.adds = q.adds[:0]
	for i, k := range keys {
		q.adds = append(q.adds, workqueue.Add[key, struct{}]{
			Key: k, AddOptions: workqueue.AddOptions[struct{}]{Priority: i % priorities},
		})
	}
	q.AddAll(q.adds)
}
func (q *flyball) get() key {
	item, _ := q.Get(context.Background())
	return item.Key
}
func (q *flyball) done(k key) { q.Done(k) }
func (q *flyball) next(done key) key {
	item, _ := q.Next(context.Background(), done)
	return item.Key
}
func (q *flyball) settle(int) {}
func (q *flyball) close()     { q.ShutDown() }

type clientGo struct {
	clientgo.TypedRateLimitingInterface[key]
}

func openClientGo(testing.TB) contender {
	return clientGo{clientgo.NewTypedRateLimitingQueue(clientgo.DefaultTypedControllerRateLimiter[key]())}
}

func (q clientGo) add(k key, _ int)                { q.Add(k) }
func (q clientGo) addAfter(k key, d time.Duration) { q.AddAfter(k, d) }
func (q clientGo) get() key {
	k, _ := q.Get()
	return k
}
func (q clientGo) done(k key) { q.Done(k) }
func (q clientGo) settle(int) {}
func (q clientGo) close()     { q.ShutDown() }

type controllerRuntime struct {
	priorityqueue.PriorityQueue[key]
}

func openControllerRuntime(testing.TB) contender {
	return controllerRuntime{priorityqueue.New[key]("", func(o *priorityqueue.Opts[key]) {
		o.Log = logr.Discard()
	})}
}

func (q controllerRuntime) add(k key, p int) {
	q.AddWithOpts(priorityqueue.AddOpts{Priority: &p}, k)
}
func (q controllerRuntime) addAfter(k key, d time.Duration) { q.AddAfter(k, d) }
func (q controllerRuntime) get() key {
	k, _, _ := q.GetWithPriority()
	return k
}
func (q controllerRuntime) done(k key) { q.Done(k) }

// settle waits for the goroutine that takes keys from the buffer of adds.
func (q controllerRuntime) settle(n int) {
	for q.Len() < n {
		time.Sleep(time.Millisecond)
	}
}
func (q controllerRuntime) close() { q.ShutDown() }
