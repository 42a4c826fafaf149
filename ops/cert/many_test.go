package cert

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// counted is a server that counts requests.
type counted struct {
	kept    *corev1.Secret
	objects map[string]*unstructured.Unstructured
	version int

	secrets, gets, injects int
}

func (c *counted) next() string {
	c.version++
	return strconv.Itoa(c.version)
}

func (c *counted) secret(context.Context) (*corev1.Secret, error) {
	c.secrets++
	return c.kept.DeepCopy(), nil
}

func (c *counted) put(_ context.Context, s *corev1.Secret) (*corev1.Secret, error) {
	c.kept = s.DeepCopy()
	c.kept.ResourceVersion = c.next()
	return c.kept.DeepCopy(), nil
}

func (c *counted) target(_ context.Context, t target) (*unstructured.Unstructured, error) {
	c.gets++
	return c.objects[t.name].DeepCopy(), nil
}

func (c *counted) inject(_ context.Context, before, after *unstructured.Unstructured) error {
	c.injects++
	if before.GetResourceVersion() != c.objects[after.GetName()].GetResourceVersion() {
		return errRaced
	}
	c.objects[after.GetName()] = after.DeepCopy()
	c.objects[after.GetName()].SetResourceVersion(c.next())
	return nil
}

// Forty CRDs are settled in one pass, without an error and with two reads of each. Later, each pass
// reads one of them, and a changed one at once.
func TestFortyTargetsSettleInOnePass(t *testing.T) {
	const many = 40
	c := &counted{objects: map[string]*unstructured.Unstructured{}}
	changed := map[int]bool{}
	k := &keeper{
		core: core{ManagedOptions: ManagedOptions{
			Name: "test", IPs: loopback, Settle: time.Minute,
			Validity: 90 * 24 * time.Hour, Rotate: 30 * 24 * time.Hour, CAValidity: 10 * 365 * 24 * time.Hour, CARotate: 365 * 24 * time.Hour,
		}},
		api: c, now: time.Now, load: func(*pair) {}, log: silent,
		template: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}},
	}
	w := &world{}
	for i := range many {
		x := target{crd, fmt.Sprint("crd-", i)}
		k.targets = append(k.targets, x)
		c.objects[x.name] = w.blank(x)
		c.objects[x.name].SetResourceVersion(c.next())
	}
	k.changed = func(i int) bool {
		was := changed[i]
		delete(changed, i)
		return was
	}
	pass := func() {
		t.Helper()
		if _, err := k.pass(t.Context()); err != nil || len(k.problems) > 0 {
			t.Errorf("pass: %v, problems %v", err, k.problems)
		}
	}
	pass()
	t.Logf("first pass: %d reads and %d writes of targets, %d reads of the Secret", c.gets, c.injects, c.secrets)
	if c.gets > 2*many || c.injects != many || c.secrets > 10 {
		t.Errorf("first pass: %d reads and %d writes of targets, %d reads of the Secret", c.gets, c.injects, c.secrets)
	}
	c.gets, c.injects, c.secrets = 0, 0, 0
	for range 10 {
		pass()
	}
	if c.gets != 10 || c.injects != 0 || c.secrets != 20 {
		t.Errorf("ten passes at rest: %d reads and %d writes of targets, %d reads of the Secret", c.gets, c.injects, c.secrets)
	}
	c.objects["crd-7"] = w.blank(target{crd, "crd-7"})
	c.objects["crd-7"].SetResourceVersion(c.next())
	changed[7] = true
	pass()
	if c.injects != 1 {
		t.Errorf("after an edit: %d writes", c.injects)
	}
	// A change that no watch reports is found after some passes.
	c.objects["crd-9"] = w.blank(target{crd, "crd-9"})
	c.objects["crd-9"].SetResourceVersion(c.next())
	for range many {
		pass()
	}
	if c.injects != 2 {
		t.Errorf("after an edit that nobody tells of: %d writes", c.injects)
	}
}
