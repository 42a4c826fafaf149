package child_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
)

func password() (*corev1.Secret, error) {
	return &corev1.Secret{StringData: map[string]string{"password": rand.Text()}}, nil
}

// A generated value is generated once, however often and by how many the child is asked for.
func TestOnce(t *testing.T) {
	c := newCluster(t)
	calls := 0
	generate := func() (*corev1.Secret, error) { calls++; return password() }
	first, did, err := child.Once(t.Context(), c, c.owner, "login", generate)
	if c.check(err); did != child.Created || calls != 1 {
		t.Fatalf("%v after %d calls", did, calls)
	}
	for range 5 {
		again, did, err := child.Once(t.Context(), c, c.owner, "login", generate)
		if c.check(err); did != child.Unchanged || string(again.Data["password"]) != string(first.Data["password"]) {
			t.Fatalf("%v: the password has changed", did)
		}
	}
	if calls != 1 {
		t.Errorf("generated %d times", calls)
	}
	c.check(client.Delete(t.Context(), c, first))
	others := livetest.Client(t, servertest.Shared(t), client.Options{})
	var all sync.WaitGroup
	made := make([]string, 8)
	for i := range made {
		all.Go(func() {
			s, _, err := child.Once(t.Context(), others, c.owner, "login", password)
			if err != nil {
				t.Error(err)
				return
			}
			made[i] = string(s.Data["password"])
		})
	}
	all.Wait()
	for _, m := range made {
		if m != made[0] || m == "" {
			t.Errorf("several passwords: %q", made)
		}
	}
}

// behind is a client whose cache has nothing yet. It counts reads.
type behind struct {
	client.Client
	reads int
}

func (b *behind) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	if b.reads++; !o.Live {
		return client.NewNotFound(client.Call{Verb: "get", Key: key})
	}
	return b.Client.Get(ctx, key, into, o)
}

// A cache that is behind causes no value that nobody uses, and the cache and the server are read once each.
func TestOnceWithACacheThatIsBehind(t *testing.T) {
	c := newCluster(t)
	b := &behind{Client: c}
	calls := 0
	for i, want := range []child.Change{child.Created, child.Unchanged, child.Unchanged} {
		b.reads = 0
		_, did, err := child.Once(t.Context(), b, c.owner, "login", func() (*corev1.Secret, error) { calls++; return password() })
		if c.check(err); did != want || calls != 1 || b.reads != 2 {
			t.Errorf("call %d: %v, generated %d times, %d reads", i, did, calls, b.reads)
		}
	}
}

func TestOnceRefuses(t *testing.T) {
	c := newCluster(t)
	_, err := client.Create(t.Context(), c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "stranger"}})
	c.check(err)
	if _, _, err := child.Once(t.Context(), c, c.owner, "stranger", password, child.Adopt()); !child.IsTaken(err) {
		t.Errorf("a stranger's: %v", err)
	}
	broken := errors.New("no entropy")
	if _, _, err := child.Once(t.Context(), c, c.owner, "a", func() (*corev1.Secret, error) { return nil, broken }); !errors.Is(err, broken) || !strings.Contains(err.Error(), "Secret "+c.ns+"/a") {
		t.Errorf("an error of generate: %v", err)
	}
	for what, generate := range map[string]func() (*corev1.Secret, error){
		"nil":          func() (*corev1.Secret, error) { return nil, nil },
		"another name": func() (*corev1.Secret, error) { return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, nil },
	} {
		_, _, err := child.Once(t.Context(), c, c.owner, "a", generate)
		if _, ok := errors.AsType[*option.Error](err); !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A value that is generated anew at each call is named in the log, once.
func TestRepeatedDifferenceIsNamed(t *testing.T) {
	c := newCluster(t)
	var log strings.Builder
	ctx := reconcile.WithLogger(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
	for i := range 20 {
		_, _, err := child.Ensure(ctx, c, c.owner, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "random"}, StringData: map[string]string{"password": rand.Text()}})
		c.check(err)
		_, _, err = child.Ensure(ctx, c, c.owner, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "steady"}, Data: map[string]string{"at": fmt.Sprint(i / 10)}})
		c.check(err)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "data.password") || strings.Contains(log.String(), "steady") {
		t.Errorf("%d warnings:\n%s", n, log.String())
	}
}

// A Pod that the server completes is at rest, with managedFields and without.
func TestPodsWithTolerationsAreAtRest(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		c := newCluster(t)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}}
		for i := range n {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: fmt.Sprint("k", i), Operator: corev1.TolerationOpExists})
		}
		made := ensure(c, p, child.Created)
		rests(c, p)
		if len(made.Spec.Tolerations) == n {
			t.Fatal("the server has added no toleration: the test shows nothing")
		}
	}
}

// A child with a field that cannot change is deleted and created anew if that is asked for, and only then.
func TestRecreate(t *testing.T) {
	c := newCluster(t)
	job := func(image string) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "work"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: image}},
		}}}}
	}
	first := ensure(c, job("one"), child.Created)
	if _, _, err := child.Ensure(t.Context(), c, c.owner, job("two")); err == nil || errors.Is(err, child.ErrDeleted) {
		t.Fatalf("without the option: %v", err)
	}
	bad := job("")
	if _, _, err := child.Ensure(t.Context(), c, c.owner, bad, child.Recreate()); err == nil || errors.Is(err, child.ErrDeleted) {
		t.Fatalf("what the server would never take: %v", err)
	}
	if now, err := client.Get[batchv1.Job](t.Context(), c, object.Key{Namespace: c.ns, Name: "work"}); err != nil || now.UID != first.UID || now.DeletionTimestamp != nil {
		t.Fatalf("%v, %v: the child was deleted for nothing", now, err)
	}
	if _, _, err := child.Ensure(t.Context(), c, c.owner, job("two"), child.Recreate()); !errors.Is(err, child.ErrDeleted) {
		t.Fatalf("with the option: %v", err)
	}
	second := ensure(c, job("two"), child.Created, child.Recreate())
	if second.UID == first.UID || second.Spec.Template.Spec.Containers[0].Image != "two" {
		t.Errorf("%s, image %s", second.UID, second.Spec.Template.Spec.Containers[0].Image)
	}
	rests(c, job("two"))
	ensure(c, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template()}}, child.Created, child.Recreate())
}

// The owner may be on its way out, if that is said.
func TestWhileDeleted(t *testing.T) {
	c := newCluster(t)
	held, err := client.Create(t.Context(), c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "held", Finalizers: []string{"example.com/backup"}}})
	c.check(err)
	c.check(client.Delete(t.Context(), c, held))
	if c.owner, err = client.Get[corev1.ConfigMap](t.Context(), c, object.KeyOf(held)); err != nil || c.owner.DeletionTimestamp == nil {
		t.Fatal(err)
	}
	backup := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "backup"}}
	if _, _, err := child.Ensure(t.Context(), c, c.owner, backup); !errors.Is(err, child.ErrOwnerDeleted) {
		t.Errorf("without the option: %v", err)
	}
	ensure(c, backup, child.Created, child.WhileDeleted())
	ensure(c, backup, child.Unchanged, child.WhileDeleted())
}
