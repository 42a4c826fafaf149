package control

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// User is the user of a controller's requests.
type User struct {
	Name   string
	Groups []string
	// Agent is the user agent. Its part before the first slash is the field manager of writes.
	Agent string
}

// ServiceAccount returns the user of a controller of kube-controller-manager, such as "deployment-controller".
func ServiceAccount(name string) User {
	return User{
		Name:   "system:serviceaccount:kube-system:" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
		Agent:  "kube-controller-manager/system:serviceaccount:kube-system:" + name,
	}
}

// Do returns a request with a body in JSON.
func (u User) Do(method, path, contentType string, body any) core.Request {
	text, raw := body.([]byte)
	if !raw {
		var err error
		if text, err = json.Marshal(body); err != nil {
			panic(fmt.Sprintf("%s %s: %v", method, path, err)) // objects of the API have a text
		}
	}
	return core.Request{Method: method, URL: path, ContentType: contentType, Accept: "application/json", UserAgent: u.Agent, User: u.Name, Groups: u.Groups, Body: text}
}

const contentJSON = "application/json"

// Create creates an object.
func (u User) Create(k Kind, o metav1.Object) core.Request {
	return u.Do("POST", k.Path(o.GetNamespace(), "", ""), contentJSON, o)
}

// CreateSub creates a subresource of an object, such as a binding.
func (u User) CreateSub(k Kind, namespace, name, subresource string, body any) core.Request {
	return u.Do("POST", k.Path(namespace, name, subresource), contentJSON, body)
}

// Update replaces an object. It fails if the object has changed since it was read.
func (u User) Update(k Kind, o metav1.Object) core.Request { return u.UpdateSub(k, o, "") }

// UpdateStatus replaces the status of an object. It fails if the object has changed since it was read.
func (u User) UpdateStatus(k Kind, o metav1.Object) core.Request { return u.UpdateSub(k, o, "status") }

// UpdateSub replaces a subresource of an object. It fails if the object has changed since it was read.
func (u User) UpdateSub(k Kind, o metav1.Object, subresource string) core.Request {
	return u.Do("PUT", k.Path(o.GetNamespace(), o.GetName(), subresource), contentJSON, o)
}

// Merge changes an object, or with a subresource that, by a merge patch.
func (u User) Merge(k Kind, namespace, name, subresource string, patch any) core.Request {
	return u.Do("PATCH", k.Path(namespace, name, subresource), "application/merge-patch+json", patch)
}

// Delete deletes an object by its path. The options may be the zero value.
func (u User) Delete(path string, o metav1.DeleteOptions) core.Request {
	o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	return u.Do("DELETE", path, contentJSON, o)
}
