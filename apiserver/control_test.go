package apiserver_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// controlled starts a server with controllers.
func controlled(t *testing.T, names ...string) (*apiserver.Server, *client.Live) {
	t.Helper()
	s := apiserver.Start(t, apiserver.Options{Controllers: names})
	return s, newClient(t, s)
}

func settle(t *testing.T, s *apiserver.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := s.Settle(ctx); err != nil {
		t.Fatal(err)
	}
}

// Each namespace has the objects that belong into it: the first ones at the start, and new ones.
func TestNamespaceContents(t *testing.T) {
	ctx := t.Context()
	s, c := controlled(t, "serviceaccount", "root-ca-cert-publisher")
	if _, err := client.Create(ctx, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	for _, ns := range []string{"default", "kube-system", "new"} {
		if _, err := client.Get[corev1.ServiceAccount](ctx, c, object.Key{Namespace: ns, Name: "default"}); err != nil {
			t.Error(err)
		}
		m, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: ns, Name: "kube-root-ca.crt"})
		if err != nil {
			t.Fatal(err)
		}
		m.Data = nil
		if _, err := client.Update(ctx, c, m); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
		if m, err = client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(m)); err != nil || len(m.Data) != 1 {
			t.Errorf("%v, %v", m.Data, err)
		}
	}
}

// A fault rule matches controllers if it names their user. A failed request is retried.
func TestFaultsOfControllers(t *testing.T) {
	ctx := t.Context()
	s, c := controlled(t, "serviceaccount")
	const user = "system:serviceaccount:kube-system:service-account-controller"
	lost := s.Fail(apiserver.On("create", "serviceaccounts").By(user).Times(1), apiserver.LoseAnswer)
	refused := s.Fail(apiserver.On("create", "serviceaccounts").From("kube-controller-manager").Between(2, 3), apiserver.Error(metav1.StatusReasonServiceUnavailable))
	others := s.Fail(apiserver.On("create", "*"), apiserver.Delay(0))
	for _, name := range []string{"one", "two"} {
		if _, err := client.Create(ctx, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
	}
	if err := refused.Wait(ctx, 2); err != nil {
		t.Fatal(err)
	}
	w, err := client.Watch[corev1.ServiceAccount](ctx, c, client.InNamespace("two"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e, err := range w.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Object != nil {
			break
		}
	}
	if lost.Count() != 1 || others.Count() != 2 {
		t.Errorf("%d and %d requests, want 1 and 2", lost.Count(), others.Count())
	}
}

// Controllers begin again when the state is restored, or the history is lost.
func TestControllersAfterRestore(t *testing.T) {
	ctx := t.Context()
	s, c := controlled(t, "serviceaccount")
	account := object.Key{Namespace: "default", Name: "default"}
	snap := s.Snapshot()
	drop := func() {
		t.Helper()
		if err := client.Delete(ctx, c, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
		if _, err := client.Get[corev1.ServiceAccount](ctx, c, account); err != nil {
			t.Error(err)
		}
	}
	drop()
	s.Restore(snap)
	drop()
	s.Restart()
	drop()
	s.Compact()
	drop()
}

// However close restores, restarts and changes follow each other, controllers go on: each state without the account ends
// with one.
func TestControllersAfterManyRestores(t *testing.T) {
	ctx := t.Context()
	s, c := controlled(t, "serviceaccount")
	whole := s.Snapshot()
	halted := s.Fail(apiserver.On("create", "serviceaccounts").From("kube-controller-manager"), apiserver.Error(metav1.StatusReasonServiceUnavailable))
	if err := client.Delete(ctx, c, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}); err != nil {
		t.Fatal(err)
	}
	if err := halted.Wait(ctx, 1); err != nil {
		t.Fatal(err)
	}
	without := s.Snapshot()
	halted.End()
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		for range 1 + random.IntN(100) {
			switch random.IntN(3) {
			case 0:
				s.Restore(whole)
			case 1:
				s.Restore(without)
			default:
				s.Restart()
			}
			for range random.IntN(50) {
				runtime.Gosched()
			}
		}
		s.Restore(without)
		short, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errors.New("no controller comes to rest"))
		err := s.Settle(short)
		cancel()
		if err != nil {
			t.Fatalf("restore %d: %v", n, err)
		}
		if _, err := client.Get[corev1.ServiceAccount](ctx, c, object.Key{Namespace: "default", Name: "default"}); err != nil {
			t.Fatalf("restore %d: %v", n, err)
		}
	}
}

func TestUnknownController(t *testing.T) {
	_, err := apiserver.New(t.Context(), apiserver.Options{Controllers: []string{"deploymint"}})
	if err == nil || !strings.Contains(err.Error(), `Options.Controllers: there is no controller "deploymint"`) {
		t.Errorf("%v", err)
	}
}

// Controllers work on virtual time: what they wait for takes no time.
func TestControllersInABubble(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := apiserver.Start(t, apiserver.Options{InMemory: true, Controllers: []string{"serviceaccount"}})
		c := newClient(t, s)
		refused := s.Fail(apiserver.On("create", "serviceaccounts").From("kube-controller-manager"), apiserver.Error(metav1.StatusReasonServiceUnavailable))
		if _, err := client.Create(ctx, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "one"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		refused.End()
		if n := refused.Count(); n < 15 || n > 30 {
			t.Errorf("%d requests in an hour", n)
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if _, err := client.Get[corev1.ServiceAccount](ctx, c, object.Key{Namespace: "one", Name: "default"}); err != nil {
			t.Error(err)
		}
	})
}
