package client

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// IgnoreNotFound is nil where err says that the object is not there, else err: for reconcilers,
// to which a deleted object is no failure.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
