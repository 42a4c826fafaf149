package life

import (
	"testing"

	"github.com/flyball-io/flyball/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
