package storagekit

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	kit "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"github.com/flyball-io/flyball/internal/tier"
)

// runs has the runs of the kit, by their names there.
var runs = map[string]func(context.Context, *testing.T, *store){
	"TestCreate": func(ctx context.Context, t *testing.T, s *store) { kit.RunTestCreate(ctx, t, s, s.valid) },
	"TestList": func(ctx context.Context, t *testing.T, s *store) {
		kit.RunTestList(ctx, t, s, s.compact, true, kit.NewKubernetesRecorder(nil)) // nothing asks etcd
	},
	"TestConsistentList": func(ctx context.Context, t *testing.T, s *store) {
		kit.RunTestConsistentList(ctx, t, s, s.increase, false, true, true)
	},
	"TestGetListNonRecursive": func(ctx context.Context, t *testing.T, s *store) {
		kit.RunTestGetListNonRecursive(ctx, t, s.increase, s)
	},
	"TestListContinuation": func(ctx context.Context, t *testing.T, s *store) { kit.RunTestListContinuation(ctx, t, s, nil) },
	"TestListPaginationRareObject": func(ctx context.Context, t *testing.T, s *store) {
		kit.RunTestListPaginationRareObject(ctx, t, s, nil)
	},
	"TestListContinuationWithFilter": func(ctx context.Context, t *testing.T, s *store) {
		kit.RunTestListContinuationWithFilter(ctx, t, s, nil)
	},
	"TestListInconsistentContinuation": func(ctx context.Context, t *testing.T, s *store) {
		kit.RunTestListInconsistentContinuation(ctx, t, latest{s}, s.compact)
	},
	"TestListResourceVersionMatch": func(ctx context.Context, t *testing.T, s *store) { kit.RunTestListResourceVersionMatch(ctx, t, s) },
	"TestGuaranteedUpdate":         func(ctx context.Context, t *testing.T, s *store) { kit.RunTestGuaranteedUpdate(ctx, t, s, s.valid) },
	"TestStats": func(ctx context.Context, t *testing.T, s *store) {
		kit.RunTestStats(ctx, t, s, codec, identity.NewEncryptCheckTransformer(), false)
	},
	"TestCompactRevision": func(ctx context.Context, t *testing.T, s *store) {
		kit.RunTestCompactRevision(ctx, t, s, s.increase, s.compact)
	},
	"TestWatchFromZero": func(ctx context.Context, t *testing.T, s *store) { kit.RunTestWatchFromZero(ctx, t, s, s.compact) },
	"OptionalTestProgressNotify": func(ctx context.Context, t *testing.T, s *store) {
		kit.RunOptionalTestProgressNotify(ctx, t, s, s.increase)
	},
	"TestWatchDispatchBookmarkEvents": func(ctx context.Context, t *testing.T, s *store) {
		kit.RunTestWatchDispatchBookmarkEvents(ctx, t, s, true)
	},

	"TestCreateWithKeyExist":                               plain(kit.RunTestCreateWithKeyExist),
	"TestGet":                                              plain(kit.RunTestGet),
	"TestUnconditionalDelete":                              plain(kit.RunTestUnconditionalDelete),
	"TestConditionalDelete":                                plain(kit.RunTestConditionalDelete),
	"TestDeleteWithSuggestion":                             plain(kit.RunTestDeleteWithSuggestion),
	"TestDeleteWithSuggestionAndConflict":                  plain(kit.RunTestDeleteWithSuggestionAndConflict),
	"TestDeleteWithConflict":                               plain(kit.RunTestDeleteWithConflict),
	"TestDeleteWithSuggestionOfDeletedObject":              plain(kit.RunTestDeleteWithSuggestionOfDeletedObject),
	"TestValidateDeletionWithSuggestion":                   plain(kit.RunTestValidateDeletionWithSuggestion),
	"TestValidateDeletionWithOnlySuggestionValid":          plain(kit.RunTestValidateDeletionWithOnlySuggestionValid),
	"TestPreconditionalDeleteWithSuggestion":               plain(kit.RunTestPreconditionalDeleteWithSuggestion),
	"TestPreconditionalDeleteWithOnlySuggestionPass":       plain(kit.RunTestPreconditionalDeleteWithOnlySuggestionPass),
	"TestGetListRecursivePrefix":                           plain(kit.RunTestGetListRecursivePrefix),
	"TestGuaranteedUpdateWithConflict":                     plain(kit.RunTestGuaranteedUpdateWithConflict),
	"TestGuaranteedUpdateWithSuggestionAndConflict":        plain(kit.RunTestGuaranteedUpdateWithSuggestionAndConflict),
	"TestListPaging":                                       plain(kit.RunTestListPaging),
	"TestNamespaceScopedList":                              plain(kit.RunTestNamespaceScopedList),
	"TestKeySchema":                                        plain(kit.RunTestKeySchema),
	"TestWatch":                                            plain(kit.RunTestWatch),
	"TestDeleteTriggerWatch":                               plain(kit.RunTestDeleteTriggerWatch),
	"TestWatchFromNonZero":                                 plain(kit.RunTestWatchFromNonZero),
	"TestDelayedWatchDelivery":                             plain(kit.RunTestDelayedWatchDelivery),
	"TestWatchContextCancel":                               plain(kit.RunTestWatchContextCancel),
	"TestWatcherTimeout":                                   plain(kit.RunTestWatcherTimeout),
	"TestWatchDeleteEventObjectHaveLatestRV":               plain(kit.RunTestWatchDeleteEventObjectHaveLatestRV),
	"TestClusterScopedWatch":                               plain(kit.RunTestClusterScopedWatch),
	"TestNamespaceScopedWatch":                             plain(kit.RunTestNamespaceScopedWatch),
	"TestOptionalWatchBookmarksWithCorrectResourceVersion": plain(kit.RunTestOptionalWatchBookmarksWithCorrectResourceVersion),
	"SendInitialEventsBackwardCompatibility":               plain(kit.RunSendInitialEventsBackwardCompatibility),
	"WatchSemantics":                                       plain(kit.RunWatchSemantics),
	"WatchSemanticInitialEventsExtended":                   plain(kit.RunWatchSemanticInitialEventsExtended),
	"WatchListMatchSingle":                                 plain(kit.RunWatchListMatchSingle),
}

func plain(run func(context.Context, *testing.T, storage.Interface)) func(context.Context, *testing.T, *store) {
	return func(ctx context.Context, t *testing.T, s *store) { run(ctx, t, s) }
}

// leftOut has the runs of the kit that this package leaves out, and why.
var leftOut = map[string]string{
	"TestCreateWithTTL":                    noEnd,
	"TestGuaranteedUpdateWithTTL":          noEnd,
	"TestTransformationFailure":            noEncryption,
	"TestGuaranteedUpdateChecksStoredData": noEncryption,
	"TestWatchError":                       noEncryption,
	"TestWatchWithUnsafeDelete":            noEncryption,
	"WatchErrorIsBlockingFurtherEvents":    noEncryption,
	"TestWatchInitializationSignal":        "it is about requests that wait in the queues of priority and fairness, which this server does not have",
}

const (
	noEnd        = "objects have no time to live: Events stay"
	noEncryption = "it wants stored objects that cannot be decrypted or decoded; this server stores what its rules have written, as it is"
)

// Every run of the kit passes, on a state of its own.
func TestKit(t *testing.T) {
	for name, run := range runs {
		t.Run(name, func(t *testing.T) { run(context.Background(), t, newStore()) })
	}
}

// Each run of the kit is made here, or is left out for a reason.
func TestNoRunIsForgotten(t *testing.T) {
	tier.Audit(t, "runs the go command")
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "k8s.io/apiserver/pkg/storage/testing").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*_tests.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Run") {
				all[strings.TrimPrefix(f.Name.Name, "Run")] = true
			}
		}
	}
	for name := range all {
		if (runs[name] != nil) == (leftOut[name] != "") {
			t.Errorf("%s is neither run nor left out, or both", name)
		}
	}
	if len(all) != len(runs)+len(leftOut) {
		t.Errorf("the kit has %d runs, and this package names %d", len(all), len(runs)+len(leftOut))
	}
	t.Logf("%d runs, %d of them left out", len(all), len(leftOut))
}

// latest lists the present state where the kit asks for any version. The kit expects that such a list keeps its limit,
// as etcd does. A whole API server answers it from its cache, without the limit, and so does the core.
type latest struct{ *store }

func (l latest) GetList(ctx context.Context, key string, o storage.ListOptions, out runtime.Object) error {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
	return l.store.GetList(ctx, key, o, out)
}
