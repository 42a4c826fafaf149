package cert

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzState: whatever a Secret of ours contains, a few actions later there is a usable certificate,
// and every written state reads back unchanged.
func FuzzState(f *testing.F) {
	now := time.Unix(1_000_000, 0)
	c := core{ManagedOptions: testPolicy()}
	first, err := c.apply(now, create, input{})
	if err != nil {
		f.Fatal(err)
	}
	joined, err := c.apply(now, join, input{state: first})
	if err != nil {
		f.Fatal(err)
	}
	other := selfMade(f, now, time.Hour)
	for _, st := range []*state{first, joined} {
		s, err := st.write(&corev1.Secret{})
		if err != nil {
			f.Fatal(err)
		}
		d := s.Data
		until := s.Annotations[untilAnnotation]
		f.Add(d[keyBundle], d[keySigner], d[keyNext], d[keyServing], d[keyServingKey], until)
		f.Add(d[keyBundle], d[keyServingKey], d[keySigner], d[keyServing], d[keyServingKey], until)
		f.Add(d[keyBundle][:len(d[keyBundle])-50], d[keySigner], d[keyNext], d[keyServing], d[keyServingKey], "{}")
		f.Add(other.cert, other.key, other.key, other.cert, other.key, `{"x":"2026-01-01T00:00:00Z"}`)
		f.Add(d[keyBundle], d[keySigner], d[keyNext], []byte(nil), []byte(nil), "null")
		f.Add([]byte(nil), d[keySigner], []byte("x"), d[keyServing], d[keyServingKey], "null")
	}
	f.Fuzz(func(t *testing.T, bundle, signer, next, serving, servingKey []byte, until string) {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{untilAnnotation: until}},
			Data:       map[string][]byte{keyBundle: bundle, keySigner: signer, keyNext: next, keyServing: serving, keyServingKey: servingKey},
		}
		s := newStory(t)
		s.now = now
		s.state = parseState(secret)
		s.tasks()
		if !s.state.serves(s.now) || s.state.problem != nil {
			t.Fatalf("nothing to serve: %v", s.state.problem)
		}
	})
}
