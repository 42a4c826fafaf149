package main

import (
	"context"
	"io"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/client/clientset/versioned"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
	kwokclient "sigs.k8s.io/kwok/pkg/utils/client"
)

// kubelets is kwok, which plays the kubelets of all nodes by its fast
// stages: a bound Pod is Running at once, a Job's Pod Succeeded, a deleted
// Pod gone. It keeps no node leases and serves no kubelet API.
func kubelets(f *files, base *rest.Config, client kubernetes.Interface) component {
	return func(ctx context.Context) error {
		stages := map[internalversion.StageResourceRef][]*internalversion.Stage{}
		for _, text := range []string{
			nodefast.DefaultNodeInit,
			podfast.DefaultPodReady, podfast.DefaultPodComplete, podDelete, podDeleteAfterCrash,
		} {
			stage, err := config.UnmarshalWithType[*internalversion.Stage](text)
			if err != nil {
				return err
			}
			ref := stage.Spec.ResourceRef
			stages[ref] = append(stages[ref], stage)
		}
		clients, err := kwokclient.NewClientset("", f.kubeconfig)
		if err != nil {
			return err
		}
		restConfig, err := clients.ToRESTConfig()
		if err != nil {
			return err
		}
		restClient, err := rest.RESTClientFor(restConfig)
		if err != nil {
			return err
		}
		dynamicClient, err := clients.ToDynamicClient()
		if err != nil {
			return err
		}
		mapper, err := clients.ToRESTMapper()
		if err != nil {
			return err
		}
		stageClient, err := versioned.NewForConfig(base)
		if err != nil {
			return err
		}
		id, err := controllers.Identity()
		if err != nil {
			return err
		}
		ctr, err := controllers.NewController(controllers.Config{
			Clock:                           clock.RealClock{},
			DynamicClient:                   dynamicClient,
			RESTClient:                      restClient,
			RESTMapper:                      mapper,
			ImpersonatingDynamicClient:      clients.ToImpersonatingDynamicClient(),
			ImpersonatingTypedClient:        clients.ToImpersonatingTypedClient(),
			TypedClient:                     client,
			TypedKwokClient:                 stageClient,
			ManageAllNodes:                  true,
			CIDR:                            podCIDR,
			NodeIP:                          "127.0.0.1",
			LocalStages:                     stages,
			PodPlayStageParallelism:         8,
			NodePlayStageParallelism:        2,
			PodsOnNodeSyncParallelism:       2,
			EnablePodsOnNodeSyncStreamWatch: true,
			ID:                              id,
		})
		if err != nil {
			return err
		}
		ctx = log.NewContext(ctx, log.NewLogger(plainWriter{os.Stderr}, log.LevelWarn))
		if err := ctr.Start(ctx); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
}

// kwok deletes by name, without a UID. The API server itself deletes a Pod
// whose grace period is 0: it stores the deletion timestamp first, then
// removes the Pod. A delete by kwok in answer to that timestamp could reach
// the next Pod of the same name. So kwok deletes at once only what has a
// grace period left.
const podDelete = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
    - {key: .metadata.deletionGracePeriodSeconds == 0, operator: NotIn, values: ["true"]}
  next: {delete: true}
`

// podDeleteAfterCrash removes what the API server was killed over: a Pod that
// still exists ten seconds after its grace period became 0. When the Pod goes
// before, kwok cancels the delay.
const podDeleteAfterCrash = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete-after-crash}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
    - {key: .metadata.deletionGracePeriodSeconds == 0, operator: In, values: ["true"]}
  delay: {durationMilliseconds: 10000}
  next: {delete: true}
`

// plainWriter hides that a writer is a terminal: no colours in the log.
type plainWriter struct{ io.Writer }
