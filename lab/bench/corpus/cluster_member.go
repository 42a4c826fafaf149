package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// member is one object of a cluster in a state, while it is made.
type member struct {
	*Cluster
	ref
	state
	r *rand.Rand // the same for every state of the object
}

// listed is the time of the first list.
var listed = start.Add(30 * 24 * time.Hour)

// time returns the time some seconds after that of the state.
func (g *member) time(seconds int) metav1.Time {
	return metav1.NewTime(listed.Add(time.Duration(int(g.at)+seconds) * time.Second))
}

// created returns when the object was made: in the weeks before the first list, or after it.
func (g *member) created() metav1.Time {
	at := listed.Add(time.Duration(g.born) * time.Second)
	if g.born == 0 {
		at = listed.Add(-time.Duration(g.rand("created", uint64(g.kind)<<60^g.number()).IntN(29*24*3600)) * time.Second)
	}
	return metav1.NewTime(at)
}

// uid returns the uid of an object.
func (c *Cluster) uid(f ref) types.UID {
	return types.UID(uid(c.rand("uid "+clusterKinds[f.kind].resource, f.number())))
}

// suffix returns the letters that the API server appends to the name of a Pod. Pods of one owner have
// different ones.
func suffix(index, owner int) string {
	const n, all = len(letters), len(letters) * len(letters) * len(letters) * len(letters) * len(letters)
	x := (index*5_000_011 + owner*7919 + 12_345) % all
	b := make([]byte, 5)
	for i := range b {
		b[i], x = letters[x%n], x/n
	}
	return string(b)
}

var (
	appWords  = strings.Fields("checkout payment catalog search cart user order invoice shipping inventory pricing review session media image email notify report audit ledger fraud risk quote booking ticket stream feed graph index token")
	partWords = strings.Fields("api web worker consumer cron gateway proxy sync import export cache admin backend frontend scheduler")
)

// name returns the name of an app.
func (a app) name() string {
	name := fmt.Sprintf("%s-%s", appWords[a.number%len(appWords)], partWords[a.number/len(appWords)%len(partWords)])
	if round := a.number / (len(appWords) * len(partWords)); round > 0 {
		name += fmt.Sprintf("-%d", round)
	}
	if a.job {
		name += fmt.Sprintf("-%d", 29_000_000+a.number)
	}
	return name
}

// namespace returns the namespace of an app, and of its objects.
func (c *Cluster) namespace(a app) string {
	return namespaceName(a.number / ofNamespace % c.namespaces)
}

func namespaceName(n int) string { return fmt.Sprintf("%s-%03d", appWords[n%len(appWords)], n) }

// appRand returns random numbers of an app, the same for all its objects.
func (c *Cluster) appRand(a app, what string) *rand.Rand {
	if a.job {
		what = "job " + what
	}
	return c.rand("app "+what, uint64(a.number))
}

// owner returns the app or Job of the object.
func (g *member) ownerOf() app {
	if g.kind == jobKind || g.kind == podKind && g.revision == 0 {
		return g.jobOf(int(g.owner))
	}
	return g.apps[int(g.owner)%len(g.apps)]
}

// meta returns the metadata of an object with that name of an app.
func (g *member) meta(a app, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: g.Cluster.namespace(a), UID: g.uid(g.ref), CreationTimestamp: g.created(), Labels: a.labels(),
	}
}

// labels returns the labels of the app's objects.
func (a app) labels() map[string]string {
	if a.job {
		return map[string]string{"app.kubernetes.io/name": a.name()}
	}
	return map[string]string{
		"app.kubernetes.io/name": a.name(), "app.kubernetes.io/instance": a.name(), "app.kubernetes.io/part-of": appWords[a.number%len(appWords)], "app.kubernetes.io/managed-by": "Helm",
	}
}

// release returns the annotations of an object that Helm made.
func (g *member) release(a app) map[string]string {
	return map[string]string{"meta.helm.sh/release-name": a.name(), "meta.helm.sh/release-namespace": g.Cluster.namespace(a)}
}

func controlledBy(apiVersion, kind, name string, id types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: id, Controller: ptr(true), BlockOwnerDeletion: ptr(true)}}
}
