package sim_test

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/sim"
)

// bugsOfStaleViews show when a program acts on a view of the past.
var bugsOfStaleViews = []bug{
	{name: "zookeeper-312", steps: again(held), reconcile: cleaner(true)},
	{name: "rabbitmq-648", steps: again(held), reconcile: cleaner(false)},
	{name: "casskop-316", steps: append([]sim.Step{app("b", `"x":"y"`, held)}, again(held)...), reconcile: cleaner(true)},
	{name: "instaclustr-402", steps: again(held), scenario: sim.Scenario{Durable: []string{"secrets"}}, reconcile: cleaner(false)},
	{name: "eck-5249", // what belongs to an object that is not in the view goes; its Secrets cannot be made again
		steps:    append([]sim.Step{app("b", `"x":"y"`, "")}, again("")...),
		scenario: sim.Scenario{Durable: []string{"secrets"}},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if !k.deleted() {
					own := k
					own.cm = nil // the Secrets have no owner
					if err := own.ensure(k.key.Name + "-user"); err != nil || !fixed {
						return err
					}
				}
				for s, err := range client.List[corev1.Secret](k.ctx, k.c, client.InNamespace(k.key.Namespace)) {
					if err != nil {
						return err
					}
					of := s.Labels["of"]
					if !fixed && of != k.key.Name || of == "" {
						continue
					}
					if fixed {
						if _, err := client.Get[corev1.ConfigMap](k.ctx, k.live, object.Key{Namespace: s.Namespace, Name: of}); err == nil {
							continue
						} else if client.IgnoreNotFound(err) != nil {
							return err
						}
					}
					if err := k.remove(s, client.IfUID(s.UID)); err != nil {
						return err
					}
				}
				return nil
			}
		}},
	{name: "rabbitmq-653", // another size than wanted deletes the set: so does a wanted size of the past
		steps: []sim.Step{app("a", `"size":"10"`, ""), set("a", `"size":"15"`), set("a", `"x":"y"`)},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				want, _ := strconv.Atoi(k.want("size"))
				set, err := k.set()
				if err != nil {
					return err
				}
				if set != nil {
					has, _ := strconv.Atoi(set.Annotations["size"])
					if has == want || fixed && has > want {
						return nil
					}
					if err := k.remove(set, client.IfUID(set.UID)); err != nil {
						return err
					}
				}
				return k.createSet(map[string]string{"size": strconv.Itoa(want)})
			}
		}},
	{name: "percona-mongodb-433", // a feature is off in the view, so its set goes
		steps: []sim.Step{app("a", `"feature":"off"`, ""), set("a", `"feature":"on"`), set("a", `"x":"y"`)},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				set, err := k.set()
				switch {
				case err != nil:
					return err
				case k.want("feature") == "on" && set == nil:
					return k.createSet(nil)
				case k.want("feature") == "on" || set == nil:
					return nil
				}
				if fixed {
					live, err := client.Get[corev1.ConfigMap](k.ctx, k.live, k.key)
					if err != nil || live.Data["feature"] == "on" {
						return client.IgnoreNotFound(err)
					}
				}
				return k.remove(set, client.IfUID(set.UID))
			}
		}},
	{name: "casskop-321", // another budget than wanted is deleted and made anew: so is a good one, by a spec of the past
		steps:    []sim.Step{app("a", `"least":"1"`, ""), set("a", `"least":"4"`), set("a", `"x":"y"`)},
		scenario: sim.Scenario{Durable: []string{"poddisruptionbudgets.policy"}},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				if !fixed {
					has, err := client.Get[policyv1.PodDisruptionBudget](k.ctx, k.c, k.key)
					if err == nil && has.Spec.MinAvailable.String() != k.want("least") {
						err = k.remove(has, client.IfUID(has.UID))
					}
					if client.IgnoreNotFound(err) != nil {
						return err
					}
				}
				return k.budget(k.want("least"))
			}
		}},
	{name: "eck-5274", // the budget of the past is written; what notes that it is done is from the present
		steps: []sim.Step{app("a", `"nodes":"1"`, ""), set("a", `"nodes":"2"`), set("a", `"x":"y"`)},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() || !fixed && k.cm.Annotations["done"] == k.want("nodes") {
					return nil
				}
				if err := k.budget(k.want("nodes")); err != nil {
					return err
				}
				return k.note("done", k.want("nodes"))
			}
		}},
}

// cleaner returns a reconcile that has a finalizer, and deletes what belongs to its object: by name, or by label. The bug:
// of whichever object of that name.
func cleaner(byName bool) func(bool) act {
	return func(fixed bool) act {
		return func(k kit) error {
			if k.cm == nil || len(k.cm.Finalizers) == 0 {
				return nil
			}
			name := "data-" + k.cm.Name
			if !k.deleted() {
				return k.ensure(name)
			}
			found, err := k.all()
			if byName {
				found = found[:0]
				var one *corev1.Secret
				if one, err = k.get(name); one != nil {
					found = append(found, one)
				}
			}
			if err != nil {
				return err
			}
			for _, s := range found {
				if fixed && !metav1.IsControlledBy(s, k.cm) && (len(s.OwnerReferences) == 0 || s.OwnerReferences[0].UID != k.cm.UID) {
					continue
				}
				if err := k.remove(s, client.IfUID(s.UID)); err != nil {
					return err
				}
			}
			return k.release()
		}
	}
}

// ensure makes a Secret, unless there is one of that name.
func (k kit) ensure(name string) error {
	s, err := k.get(name)
	if err != nil || s != nil {
		return err
	}
	return k.create(name)
}

// set reads the StatefulSet from the server; nil: there is none.
func (k kit) set() (*appsv1.StatefulSet, error) {
	s, err := client.Get[appsv1.StatefulSet](k.ctx, k.c, object.Key{Namespace: k.key.Namespace, Name: k.key.Name})
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return s, nil
}

// createSet makes a StatefulSet.
func (k kit) createSet(annotations map[string]string) error {
	labels := map[string]string{"of": k.key.Name}
	_, err := client.Create(k.ctx, k.c, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: k.key.Namespace, Name: k.key.Name, Annotations: annotations},
		Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: "a",
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
	})
	return err
}

// budget makes the PodDisruptionBudget as it has to be.
func (k kit) budget(least string) error {
	n := intstr.Parse(least)
	want := policyv1.PodDisruptionBudgetSpec{MinAvailable: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"of": k.key.Name}}}
	has, err := client.Get[policyv1.PodDisruptionBudget](k.ctx, k.c, object.Key{Namespace: k.key.Namespace, Name: k.key.Name})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil {
		_, err := client.Create(k.ctx, k.c, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: k.key.Namespace, Name: k.key.Name}, Spec: want})
		return err
	}
	if has.Spec.MinAvailable.String() == least {
		return nil
	}
	has.Spec = want
	_, err = client.Update(k.ctx, k.c, has)
	return err
}
