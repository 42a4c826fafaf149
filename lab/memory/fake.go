package main

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"

	"github.com/flyball-io/flyball/lab/internal/suites"
)

//go:embed fakehook.go.txt
var fakeHook []byte

// fakeClient compiles the specs of controller-runtime's fake client. A hook in its builder puts a client of a server in
// its place, if the environment has FLYBALL_SERVER.
func fakeClient(ctx context.Context, dir string, s suite) (suites.Run, error) {
	dir = filepath.Join(dir, "fake")
	if err := copied(ctx, dir, controllerRuntimeModule); err != nil {
		return suites.Run{}, err
	}
	dir = filepath.Join(dir, s.pkg)
	const before = "\tif f.interceptorFuncs != nil {\n"
	if err := suites.Edit(filepath.Join(dir, "client.go"), before, "\tif hook != nil {\n\t\tresult = hook(f)\n\t}\n\n"+before); err != nil {
		return suites.Run{}, err
	}
	variable := []byte("package fake\n\nimport \"sigs.k8s.io/controller-runtime/pkg/client\"\n\nvar hook func(*ClientBuilder) client.WithWatch\n")
	if err := os.WriteFile(filepath.Join(dir, "hook.go"), variable, 0o644); err != nil {
		return suites.Run{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "flyball_test.go"), fakeHook, 0o644); err != nil {
		return suites.Run{}, err
	}
	return compile(ctx, dir, s)
}
