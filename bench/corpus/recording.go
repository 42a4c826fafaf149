package corpus

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// section begins the objects of one kind in a recording. A recording is a gzip file of JSON with a
// value on each line: for each kind a section, and then its objects.
type section struct {
	Format   string   `json:"format"` // recordingFormat
	Resource Resource `json:"resource"`
	Objects  int      `json:"objects"`
}

const recordingFormat = "flyball-recording-1"

// Recorder writes a recording. Its methods must not be called concurrently.
type Recorder struct {
	zip *gzip.Writer
}

// NewRecorder begins a recording.
func NewRecorder(w io.Writer) *Recorder { return &Recorder{zip: gzip.NewWriter(w)} }

// Add writes all objects of a kind, each as JSON with apiVersion and kind. The data of Secrets is
// replaced by zeros; see Blank.
func (r *Recorder) Add(res Resource, objects []json.RawMessage) error {
	enc := json.NewEncoder(r.zip)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(section{recordingFormat, res, len(objects)}); err != nil {
		return err
	}
	for _, o := range objects {
		if res.GVK == secretKind {
			var err error
			if o, err = Blank(o); err != nil {
				return err
			}
		}
		if err := enc.Encode(o); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the recording. It does not close the underlying writer.
func (r *Recorder) Close() error { return r.zip.Close() }

// Recording holds the objects of one kind of a recording. It implements Corpus.
type Recording struct {
	resource Resource
	objects  []json.RawMessage
	id       string
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
	zip, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, err
	}
	var all []*Recording
	bytesOf := map[*Recording]int{}
	dec := json.NewDecoder(zip)
	for {
		var s section
		if err := dec.Decode(&s); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if s.Format != recordingFormat {
			return nil, fmt.Errorf("format %q is not %s", s.Format, recordingFormat)
		}
		r, sum := &Recording{resource: s.Resource}, fnv.New64a()
		for i := range s.Objects {
			var o json.RawMessage
			if err := dec.Decode(&o); err != nil {
				return nil, fmt.Errorf("%s, object %d: %w", s.Resource.GVR.GroupResource(), i, err)
			}
			sum.Write(o)
			bytesOf[r] += len(o)
			r.objects = append(r.objects, o)
		}
		r.id = fmt.Sprintf("recorded-%s-%d-%x", s.Resource.GVR.GroupResource(), s.Objects, sum.Sum64())
		if len(r.objects) > 0 {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no objects are in it")
	}
	slices.SortStableFunc(all, func(a, b *Recording) int { return cmp.Compare(bytesOf[b], bytesOf[a]) })
	return all, nil
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

var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// Blank replaces the data of a Secret by zeros of about the same length, and removes the
// annotations, since one of them may contain the data.
func Blank(raw json.RawMessage) (json.RawMessage, error) {
	var o map[string]any
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	data, _ := o["data"].(map[string]any)
	for k, v := range data {
		text, _ := v.(string)
		data[k] = zeros(len(text))
	}
	delete(o, "stringData")
	if m, ok := o["metadata"].(map[string]any); ok {
		delete(m, "annotations")
	}
	var b bytes.Buffer
	err := json.NewEncoder(&b).Encode(o)
	return bytes.TrimSpace(b.Bytes()), err
}

// zeros returns base64 of zeros, n letters long.
func zeros(n int) string { return strings.Repeat("A", n/4*4) }
