package webhooktest

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/webhook/convert"
)

type kept struct{ corev1.ConfigMap }

func (k *kept) DeepCopyObject() runtime.Object { c := *k; return &c }

func toMap(k *kept, m *corev1.ConfigMap) error {
	m.Data, m.BinaryData, m.Immutable = k.Data, k.BinaryData, k.Immutable
	return nil
}

func fromMap(m *corev1.ConfigMap, k *kept) error {
	k.Data, k.BinaryData, k.Immutable = m.Data, m.BinaryData, m.Immutable
	return nil
}

func TestRoundTripAcceptsALosslessConversion(t *testing.T) {
	RoundTrip(t, convert.Spoke[kept, corev1.ConfigMap](toMap, fromMap))
}

func FuzzRoundTrip(f *testing.F) { RoundTrip(f, convert.Spoke[kept, corev1.ConfigMap](toMap, fromMap)) }

// recorder is a testing.TB that records failures without failing.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Errorf(_ string, args ...any) { r.said = append(r.said, args[1].(string)) }
func (*recorder) Helper()                        {}

func TestRoundTripFindsLosses(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(k *kept, m *corev1.ConfigMap)
		back   func(m *corev1.ConfigMap, k *kept)
		says   string
	}{
		"forgotten on the way there": {change: func(_ *kept, m *corev1.ConfigMap) { m.Immutable = nil }, says: "immutable"},
		"forgotten on the way back":  {back: func(_ *corev1.ConfigMap, k *kept) { k.BinaryData = nil }, says: "binaryData"},
		"a label lost":               {back: func(_ *corev1.ConfigMap, k *kept) { k.Labels = nil }, says: "labels"},
		"renamed":                    {change: func(_ *kept, m *corev1.ConfigMap) { m.Name = "x" }, says: "metadata.name"},
	} {
		r := &recorder{TB: t}
		RoundTrip(r, convert.Spoke[kept, corev1.ConfigMap](func(k *kept, m *corev1.ConfigMap) error {
			err := toMap(k, m)
			if tt.change != nil {
				tt.change(k, m)
			}
			return err
		}, func(m *corev1.ConfigMap, k *kept) error {
			err := fromMap(m, k)
			if tt.back != nil {
				tt.back(m, k)
			}
			return err
		}))
		if len(r.said) == 0 || !strings.Contains(strings.Join(r.said, ""), tt.says) {
			t.Errorf("%s: it said %.300q", name, r.said)
		}
	}
}
