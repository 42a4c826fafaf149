package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// The class that a new cluster begins with, and its provisioner. The API server in memory has the same.
const (
	standardClass   = "standard"
	provisionerName = "volumes.flyball.io"

	provisionerAnnotation   = "volume.kubernetes.io/storage-provisioner"
	provisionedByAnnotation = "pv.kubernetes.io/provisioned-by"
	defaultClassAnnotation  = "storageclass.kubernetes.io/is-default-class"
)

// createClass creates the default class if the cluster has none.
func createClass(ctx context.Context, client kubernetes.Interface) error {
	have, err := client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || len(have.Items) > 0 {
		return err
	}
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	_, err = client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: standardClass, Annotations: map[string]string{defaultClassAnnotation: "true"}},
		Provisioner: provisionerName, VolumeBindingMode: &mode,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// provisioner makes the volumes of claims whose class names it, when kube-controller-manager asks for one, and deletes
// them when nobody claims them any more. Nothing is ever written to them.
func provisioner(client kubernetes.Interface) component {
	return func(ctx context.Context) error {
		factory := informers.NewSharedInformerFactory(client, 0)
		claims, volumes := factory.Core().V1().PersistentVolumeClaims(), factory.Core().V1().PersistentVolumes()
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
		add := func(o any) {
			if name, err := cache.ObjectToName(o); err == nil {
				queue.Add(name)
			}
		}
		for _, informer := range []cache.SharedIndexInformer{claims.Informer(), volumes.Informer()} {
			if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, o any) { add(o) }}); err != nil {
				return err
			}
		}
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		defer context.AfterFunc(ctx, queue.ShutDown)()
		factory.WaitForCacheSync(ctx.Done())
		for {
			name, over := queue.Get()
			if over {
				return nil
			}
			var err error
			if name.Namespace == "" {
				if v, missing := volumes.Lister().Get(name.Name); missing == nil {
					err = deleteVolume(ctx, client, v)
				}
			} else if c, missing := claims.Lister().PersistentVolumeClaims(name.Namespace).Get(name.Name); missing == nil {
				err = makeVolume(ctx, client, c)
			}
			if err != nil && ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "controlplane: provisioner: %v: %v\n", name, err)
				queue.AddRateLimited(name)
			} else {
				queue.Forget(name)
			}
			queue.Done(name)
		}
	}
}

// makeVolume makes the volume of a claim, if the claim asks for it.
func makeVolume(ctx context.Context, client kubernetes.Interface, c *corev1.PersistentVolumeClaim) error {
	if c.Annotations[provisionerAnnotation] != provisionerName || c.Spec.VolumeName != "" || c.DeletionTimestamp != nil || c.Spec.StorageClassName == nil {
		return nil
	}
	class, err := client.StorageV1().StorageClasses().Get(ctx, *c.Spec.StorageClassName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	name, kind := "pvc-"+string(c.UID), corev1.HostPathDirectoryOrCreate
	_, err = client.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedByAnnotation: provisionerName}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]}, AccessModes: c.Spec.AccessModes, VolumeMode: c.Spec.VolumeMode,
			PersistentVolumeReclaimPolicy: *class.ReclaimPolicy, StorageClassName: class.Name, MountOptions: class.MountOptions,
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/flyball/" + name, Type: &kind}},
		},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// deleteVolume deletes a volume that was made here and that nobody claims any more, if its policy says so.
func deleteVolume(ctx context.Context, client kubernetes.Interface, v *corev1.PersistentVolume) error {
	if v.Annotations[provisionedByAnnotation] != provisionerName || v.DeletionTimestamp != nil || v.Status.Phase != corev1.VolumeReleased ||
		v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return nil
	}
	err := client.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
