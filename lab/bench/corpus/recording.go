package corpus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/recording"
)

// Recording holds the objects of one kind of a recording. It implements Corpus.
type Recording struct {
	resource Resource
	objects  []json.RawMessage
	id       string
}

// Save writes the objects of a corpus, each kind in the order of a server's lists.
func Save(w *recording.Writer, c Corpus) error {
	of := make([][]int, len(c.Resources()))
	keys := make([]string, c.Len())
	for i := range c.Len() {
		k, o := c.KindOf(i), c.At(i)
		of[k], keys[i] = append(of[k], i), o.GetNamespace()+"/"+o.GetName()
	}
	for k, res := range c.Resources() {
		slices.SortFunc(of[k], func(a, b int) int { return strings.Compare(keys[a], keys[b]) })
		if err := w.Begin(res, len(of[k])); err != nil {
			return err
		}
		for _, i := range of[k] {
			o := c.At(i)
			o.GetObjectKind().SetGroupVersionKind(res.GVK)
			b, err := json.Marshal(o)
			if err == nil {
				err = w.Add(b)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Load reads one kind of a recording. resource is its name, with the group if it has one, such as
// "pods" or "deployments.apps". Empty means the kind with the most bytes.
func Load(file, resource string) (*Recording, error) {
	all, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", file, err)
	}
	var names []string
	for _, r := range all {
		name := r.resource.GVR.GroupResource().String()
		if name == resource || resource == "" {
			return r, nil
		}
		names = append(names, name)
	}
	return nil, fmt.Errorf("recording %s: no %q: it has %s", file, resource, strings.Join(names, ", "))
}

// read returns all kinds with objects, those with the most bytes first.
func read(file string) ([]*Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	reader, err := recording.NewReader(f)
	if err != nil {
		return nil, err
	}
	var all []*Recording
	bytesOf := map[*Recording]int{}
	for {
		res, n, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		r, sum, at := &Recording{resource: res}, fnv.New64a(), map[string]int{}
		for i := range n {
			o, err := reader.Object()
			if err != nil {
				return nil, err
			}
			name, err := nameOf(o)
			if err == nil && at[name] > 0 {
				err = fmt.Errorf("it is called %s, as object %d is: a server has one object of a name", name, at[name])
			}
			if err != nil {
				return nil, fmt.Errorf("%s, object %d: %w", res.GVR.GroupResource(), i+1, err)
			}
			at[name] = i + 1
			sum.Write(o)
			bytesOf[r] += len(o)
			r.objects = append(r.objects, bytes.Clone(o))
		}
		r.id = fmt.Sprintf("recorded-%s-%d-%x", res.GVR.GroupResource(), n, sum.Sum64())
		if n > 0 {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no objects are in it")
	}
	slices.SortStableFunc(all, func(a, b *Recording) int { return cmp.Compare(bytesOf[b], bytesOf[a]) })
	return all, nil
}

// nameOf returns the namespace and the name of an object.
func nameOf(o []byte) (string, error) {
	var named struct {
		Metadata struct{ Namespace, Name string }
	}
	if err := json.Unmarshal(o, &named); err != nil {
		return "", fmt.Errorf("it is no object in JSON: %w", err)
	}
	if named.Metadata.Name == "" {
		return "", errors.New("it has no name")
	}
	return named.Metadata.Namespace + "/" + named.Metadata.Name, nil
}

// ID implements Corpus.
func (r *Recording) ID() string { return r.id }

// Resource returns the kind of the objects.
func (r *Recording) Resource() Resource { return r.resource }

// Resources implements Corpus.
func (r *Recording) Resources() []Resource { return []Resource{r.resource} }

// KindOf implements Corpus.
func (r *Recording) KindOf(int) int { return 0 }

// Churn implements Corpus: the objects change in turn.
func (r *Recording) Churn(events int) Churn { return inTurn(r.Len(), events, r.Changed) }

// Len implements Corpus.
func (r *Recording) Len() int { return len(r.objects) }

// At implements Corpus.
func (r *Recording) At(i int) Object { return r.Changed(i, 0) }

// Changed returns object i after n changes, which an annotation counts. Objects have their Go type from
// Scheme, or are unstructured.
func (r *Recording) Changed(i, n int) Object {
	var o Object = &unstructured.Unstructured{}
	if typed, err := Scheme.New(r.resource.GVK); err == nil {
		o = typed.(Object)
	}
	if err := json.Unmarshal(r.objects[i], o); err != nil {
		panic(fmt.Sprintf("recorded object %d of %s: %s", i, r.resource.GVK.Kind, err)) // the server sent it
	}
	o.GetObjectKind().SetGroupVersionKind(r.resource.GVK)
	o.SetResourceVersion(fmt.Sprint(FirstVersion + i))
	if n > 0 {
		all := map[string]string{"bench.example.org/changes": fmt.Sprint(n)}
		for k, v := range o.GetAnnotations() {
			all[k] = v
		}
		o.SetAnnotations(all)
	}
	return o
}
