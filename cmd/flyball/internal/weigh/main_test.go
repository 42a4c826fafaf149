package weigh

import (
	"testing"

	"github.com/flyball-io/flyball/test/planetest"
)

func TestMain(m *testing.M) { planetest.Main(m) }
