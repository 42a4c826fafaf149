package audit

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/bench/corpus"
)

const serverEnv = "FLYBALL_BENCH_AUDIT_SERVER" // the number of Pods

func TestMain(m *testing.M) {
	if n := os.Getenv(serverEnv); n != "" {
		objects, err := strconv.Atoi(n)
		if err == nil {
			err = serve(objects)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// server lists Pods, complete ones without content, and their metadata, from bytes that were
// encoded before.
type server struct {
	version     int
	whole, meta map[int]page // by the number of the first object
	sent, plain atomic.Int64 // bytes of pages of metadata
}

type page struct{ zipped, plain []byte }

// serve prints its address, and then serves until standard input ends.
func serve(objects int) error {
	const size = 500
	spec := corpus.Spec{Kind: "pods", Objects: objects, Owners: max(objects/20, 1), ManagedFields: true, Seed: 1}
	s := &server{version: corpus.Version(spec), whole: map[int]page{}, meta: map[int]page{}}
	for from := 0; from < objects; from += size {
		to := min(from+size, objects)
		list := metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}
		if to < objects {
			list.Continue = strconv.Itoa(to)
		}
		pods := corev1.PodList{ListMeta: list}
		meta := metav1.PartialObjectMetadataList{ListMeta: list}
		for i := from; i < to; i++ {
			m := spec.At(i).(*corev1.Pod).ObjectMeta
			meta.Items = append(meta.Items, metav1.PartialObjectMetadata{ObjectMeta: m})
			m.ManagedFields = nil
			pods.Items = append(pods.Items, corev1.Pod{ObjectMeta: m})
		}
		var err error
		if s.whole[from], err = encode(&pods, "v1", "PodList"); err != nil {
			return err
		}
		if s.meta[from], err = encode(&meta, "meta.k8s.io/v1", "PartialObjectMetadataList"); err != nil {
			return err
		}
	}
	h := httptest.NewServer(s)
	fmt.Println(h.URL)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func encode(list interface{ Marshal() ([]byte, error) }, apiVersion, kind string) (page, error) {
	raw, err := list.Marshal()
	if err != nil {
		return page{}, err
	}
	b, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}).Marshal()
	if err != nil {
		return page{}, err
	}
	p := page{plain: append([]byte("k8s\x00"), b...)}
	p.zipped = p.plain
	if len(p.plain) > 128<<10 {
		var z bytes.Buffer
		w, _ := gzip.NewWriterLevel(&z, gzip.BestSpeed)
		w.Write(p.plain)
		w.Close()
		p.zipped = z.Bytes()
	}
	return p, nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.URL.Path == "/sent":
		fmt.Fprintln(w, s.sent.Load(), s.plain.Load())
	case q.Get("sendInitialEvents") != "":
		http.Error(w, "no streaming lists", http.StatusBadRequest)
	case q.Get("watch") != "":
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		from, _ := strconv.Atoi(q.Get("continue"))
		p, meta := s.whole[from], strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
		if meta {
			p = s.meta[from]
		}
		b := p.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(p.zipped) < len(p.plain) {
			b = p.zipped
			w.Header().Set("Content-Encoding", "gzip")
		}
		if meta {
			s.sent.Add(int64(len(b)))
			s.plain.Add(int64(len(p.plain)))
		}
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		w.Write(b)
	}
}
