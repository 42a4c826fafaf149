package operatortest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/test/servertest"
	"github.com/flyball-io/flyball/webhook"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// config returns the folder of a program that validates labelled ConfigMaps.
func config(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rbac/role.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: role}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch, create, update, patch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch, create, update, patch]}
- {apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: [get, list, watch, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: role}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role}
`,
		"webhook/manifests.yaml": `apiVersion: v1
kind: Service
metadata: {name: webhook-service, namespace: system}
spec: {ports: [{port: 443, targetPort: webhooks}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating}
webhooks:
- name: configmaps.operatortest.local
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {service: {name: webhook-service, namespace: system, path: ` + webhook.ValidatePath(corev1.SchemeGroupVersion.WithKind("ConfigMap")) + `}}
  objectSelector: {matchLabels: {replicas: here}}
  rules:
  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
`,
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCallsGoToReadyReplicas: several replicas share a certificate and a Lease, one of them leads, and calls go
// to the ready ones, before and after a restart.
func TestCallsGoToReadyReplicas(t *testing.T) {
	const n = 3
	var out [n]atomic.Bool // replicas that report themselves as not ready
	var made, called atomic.Int64
	op := Start(t, Program{
		Config: config(t), Replicas: n,
		Options: func() (flyball.Options, error) {
			return flyball.Options{Name: "replicas", Leader: &leader.Options{Name: "replicas"}}, nil
		},
		Add: func(m *flyball.Manager) error {
			own := &out[(made.Add(1)-1)%n]
			_, err := m.Ready().Add("test", func(context.Context) error {
				if own.Load() {
					return errors.New("out")
				}
				return nil
			})
			return errors.Join(err, webhook.Validate[corev1.ConfigMap](m, webhook.ValidatorFuncs[corev1.ConfigMap]{
				Create: func(_ context.Context, c *corev1.ConfigMap) ([]string, error) {
					called.Add(1)
					if c.Data["bad"] != "" {
						return nil, errors.New("bad data")
					}
					return nil, nil
				},
			}))
		},
	})
	for _, round := range []string{"first", "restarted"} {
		if len(op.Replicas) != n || op.Manager != op.Replicas[0] {
			t.Fatalf("%s: %d replicas", round, len(op.Replicas))
		}
		ctx, cancel := context.WithTimeout(t.Context(), Bound)
		if err := until(ctx, func() error {
			leads := 0
			for _, m := range op.Replicas {
				if m.Leading() {
					leads++
				}
			}
			if leads != 1 {
				return fmt.Errorf("%d lead", leads)
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", round, err)
		}
		cancel()
		// The rule of the Service: the ready replicas in turn.
		led := func() (to []int) {
			for range 2 * n {
				at := op.service.endpoint()
				i := slices.IndexFunc(op.Replicas, func(m *flyball.Manager) bool { return at != nil && m.Addrs().Webhooks == at })
				to = append(to, i)
			}
			slices.Sort(to)
			return slices.Compact(to)
		}
		if to := led(); !slices.Equal(to, []int{0, 1, 2}) {
			t.Errorf("%s: led to %v", round, to)
		}
		out[0].Store(true)
		if to := led(); !slices.Equal(to, []int{1, 2}) {
			t.Errorf("%s: without the first led to %v", round, to)
		}
		for i := range out {
			out[i].Store(true)
		}
		if to := led(); !slices.Equal(to, []int{-1}) {
			t.Errorf("%s: with none led to %v", round, to)
		}
		for i := range out {
			out[i].Store(false)
		}
		// All replicas give the same answer.
		before := called.Load()
		for i := range 2 * n {
			c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-", Namespace: op.Namespace, Labels: map[string]string{"replicas": "here"}}}
			if i%2 == 1 {
				c.Data = map[string]string{"bad": "yes"}
			}
			if _, err := client.Create(t.Context(), op.Client, c); (err != nil) != (i%2 == 1) {
				t.Errorf("%s: %v", round, err)
			}
		}
		if called.Load()-before < 2*n {
			t.Errorf("%s: called %d times", round, called.Load()-before)
		}
		if round == "first" {
			was := slices.Clone(op.Replicas)
			op.Restart(t, nil)
			if slices.ContainsFunc(was, func(m *flyball.Manager) bool { return slices.Contains(op.Replicas, m) }) {
				t.Error("a replica of before is among those of after")
			}
		}
	}
}
