package convert_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/flyball-io/flyball/internal/sizes"
	"github.com/flyball-io/flyball/webhook/convert"
)

// Lists of objects of every size are converted there and back without loss, however the body arrives.
func TestSizes(t *testing.T) {
	sizes.Run(t, func(t *testing.T, c *sizes.Case) {
		e := endpoint(t)
		var first []string
		for _, o := range c.First {
			var order orderV1
			if err := json.Unmarshal(c.JSON(o), &order); err != nil {
				t.Fatal(err)
			}
			order.Spec.Items = []string{o.GetName(), string(c.JSON(o))}
			order.APIVersion, order.Kind = "shop.flyball.test/v1", "Order"
			b, err := json.Marshal(&order)
			if err != nil {
				t.Fatal(err)
			}
			first = append(first, string(b))
		}
		now := first
		for _, to := range []string{"v2", "v3", "v1"} {
			body := c.Pieces(strings.NewReader(request("shop.flyball.test/"+to, now...)))
			r := httptest.NewRequest(http.MethodPost, convert.Path, body)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			e.ServeHTTP(w, r)
			var got apiextensionsv1.ConversionReview
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Response.Result.Status != "Success" {
				t.Fatalf("to %s: %d, %v, %.300s", to, w.Code, err, w.Body)
			}
			now = nil
			for _, o := range got.Response.ConvertedObjects {
				now = append(now, string(o.Raw))
			}
		}
		for i, o := range first {
			if canon(t, o) != canon(t, now[i]) {
				t.Errorf("%s has changed", c.First[i].GetName())
			}
		}
	})
}
