module github.com/flyball-io/flyball/cmd/flyball

go 1.26.0

require github.com/flyball-io/flyball v0.0.0

replace github.com/flyball-io/flyball => ../..
