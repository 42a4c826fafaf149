package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	webappv1 "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v1"
)

// deploymentOf is what the Deployment of a Guestbook should be. What it leaves open is the server's,
// or somebody else's, to say.
func deploymentOf(g *webappv1.Guestbook) *appsv1.Deployment {
	labels := labelsOf(g)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: g.Spec.Size,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:  "guestbook",
					Image: g.Spec.Image,
					// Else it is what the first image had by default, whatever the image is later.
					ImagePullPolicy: corev1.PullIfNotPresent,
					Env: []corev1.EnvVar{
						{Name: "GUESTBOOK_MESSAGE", Value: g.Spec.Message},
						{Name: "GUESTBOOK_ALIAS", Value: string(g.Spec.Alias)},
					},
					Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80, Protocol: corev1.ProtocolTCP}},
				}}},
			},
		},
	}
}

// serviceOf is what the Service of a Guestbook should be.
func serviceOf(g *webappv1.Guestbook) *corev1.Service {
	labels := labelsOf(g)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace, Labels: labels},
		Spec: corev1.ServiceSpec{
			Selector: labels,
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http")}},
		},
	}
}

func labelsOf(g *webappv1.Guestbook) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "guestbook", "app.kubernetes.io/instance": g.Name}
}
