package main

import (
	"context"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	schedoptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// scheduler is a kube-scheduler with its default profile.
func scheduler(f *files) component {
	return func(ctx context.Context) error {
		s := schedoptions.NewOptions()
		err := parse(*s.Flags, []string{
			"--kubeconfig=" + f.kubeconfig,
			"--leader-elect=false",
			"--secure-port=0",
			"--kube-api-qps=2000",
			"--kube-api-burst=4000",
		})
		if err != nil {
			return err
		}
		cc, sched, err := app.Setup(ctx, s)
		if err != nil {
			return err
		}
		return app.Run(ctx, cc, sched)
	}
}
