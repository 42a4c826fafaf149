package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	wait "github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/test/plane"
)

// A program that is deployed under another prefix runs with the arguments of its Deployment and the
// permissions of its ServiceAccount. It becomes leader, and the API server trusts it in every call.
func TestDeployedUnderAnotherPrefix(t *testing.T) {
	tier.Audit(t, "runs the go command")
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "guestbook")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd")
	build.Dir = filepath.Join("..", "..", "examples", "guestbook")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pl, c := ownPlane(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // only a hanging test takes so long
	defer cancel()

	objs := renamedGuestbook(t, "namePrefix: team-a-\n")
	if err := manifest.Apply(ctx, c, "test", objs, nil); err != nil {
		t.Fatal(err)
	}
	args, account := deployed(t, objs)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	data, err := pl.UserKubeconfig("system:serviceaccount:elsewhere:" + account)
	if err == nil {
		err = os.WriteFile(kubeconfig, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	// These are the values that a Pod gets, and addresses that no other program uses.
	args = append(args, "--kubeconfig", kubeconfig, "--webhook-namespace", "elsewhere", "--leader-elect-namespace", "elsewhere",
		"--probe-addr=127.0.0.1:0", "--metrics-addr=127.0.0.1:0", "--webhook-addr=127.0.0.1:0")
	var said bytes.Buffer
	program := exec.CommandContext(ctx, binary, args...)
	program.Stdout, program.Stderr = &said, &said
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if ctx.Err() == nil { // a second signal would end it at once
			_ = program.Process.Signal(syscall.SIGTERM)
		}
		if err := program.Wait(); err != nil {
			t.Errorf("the program: %v", err)
		}
		if t.Failed() {
			t.Logf("it said:\n%s", &said)
		}
	}()

	becomes(ctx, t, "it leads", func() bool {
		for l, err := range client.List[coordinationv1.Lease](ctx, c, client.InNamespace("elsewhere")) {
			if err == nil && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" {
				return true
			}
		}
		return false
	})
	becomes(ctx, t, "the mutating webhooks trust it", func() bool {
		w, err := client.Get[registrationv1.MutatingWebhookConfiguration](ctx, c, object.Key{Name: "team-a-mutating-webhook-configuration"})
		return err == nil && len(w.Webhooks) > 0 && len(w.Webhooks[0].ClientConfig.CABundle) > 0
	})
	becomes(ctx, t, "the validating webhooks trust it", func() bool {
		w, err := client.Get[registrationv1.ValidatingWebhookConfiguration](ctx, c, object.Key{Name: "team-a-validating-webhook-configuration"})
		return err == nil && len(w.Webhooks) > 0 && len(w.Webhooks[0].ClientConfig.CABundle) > 0
	})
	becomes(ctx, t, "the conversion trusts it", func() bool {
		crd := &unstructured.Unstructured{}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		err := c.Get(ctx, object.Key{Name: "guestbooks.webapp.example.com"}, crd, client.GetOptions{})
		how, _, _ := unstructured.NestedMap(crd.Object, "spec", "conversion", "webhook", "clientConfig")
		service, _, _ := unstructured.NestedString(how, "service", "name")
		return err == nil && how["caBundle"] != nil && service == "team-a-webhook-service"
	})
}

// deployed returns the arguments and the service account of the one Deployment.
func deployed(t *testing.T, objs []manifest.Object) (args []string, account string) {
	t.Helper()
	for _, o := range objs {
		if o.GetKind() == "Deployment" {
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			args, _, _ = unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
			account, _, _ = unstructured.NestedString(o.Object, "spec", "template", "spec", "serviceAccountName")
		}
	}
	if len(args) == 0 || account == "" {
		t.Fatalf("args %q, service account %q", args, account)
	}
	return args, account
}

func becomes(ctx context.Context, t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		if wait.Sleep(ctx, 50*time.Millisecond) != nil {
			t.Fatalf("waiting until %s: %v", what, context.Cause(ctx))
		}
	}
}

// ownPlane starts a control plane for one test, and an administrator's client.
func ownPlane(t *testing.T) (*plane.Plane, *client.Live) {
	t.Helper()
	livetest.NeedReal(t)
	pl, err := plane.Start(t.Context(), plane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pl.Close(); err != nil {
			t.Error(err)
		}
	})
	return pl, livetest.Client(t, pl, client.Options{})
}
