package adopt

// Import paths whose functions the tables name.
const (
	builderPath    = ctrlPath + "/pkg/builder"
	clientPath     = ctrlPath + "/pkg/client"
	controllerPath = ctrlPath + "/pkg/controller"
	utilPath       = ctrlPath + "/pkg/controller/controllerutil"
	finalizerPath  = ctrlPath + "/pkg/finalizer"
	handlerPath    = ctrlPath + "/pkg/handler"
	logPath        = ctrlPath + "/pkg/log"
	predicatePath  = ctrlPath + "/pkg/predicate"
	reconcilePath  = ctrlPath + "/pkg/reconcile"
	sourcePath     = ctrlPath + "/pkg/source"
	metaPath       = "k8s.io/apimachinery/pkg/api/meta"
)

// recordPaths are the packages that define recorders of events.
var recordPaths = []string{"k8s.io/client-go/tools/record", "k8s.io/client-go/tools/events", "k8s.io/client-go/tools/internal/events"}

// known is a function of the peer, and what stands in its place.
type known struct{ aspect, flyball, note string }

// functions are functions of packages that a reconciler calls. T is replaced by the kind of the
// controller.
var functions = map[string]known{
	utilPath + ".AddFinalizer":       {"finalizers", `finalizer.Run(ctx, c, obj, name, finalizer.Do("...", cleanUp))`, cleanUp},
	utilPath + ".RemoveFinalizer":    {"finalizers", `finalizer.Run(ctx, c, obj, name, finalizer.Do("...", cleanUp))`, cleanUp},
	utilPath + ".ContainsFinalizer":  {"finalizers", `finalizer.Run(ctx, c, obj, name, finalizer.Do("...", cleanUp))`, cleanUp},
	finalizerPath + ".NewFinalizers": {"finalizers", `finalizer.Run(ctx, c, obj, name, finalizer.Do("...", cleanUp))`, cleanUp},
	utilPath + ".CreateOrUpdate":     {"children", "child.Ensure(ctx, c, owner, want)", ensure},
	utilPath + ".CreateOrPatch":      {"children", "child.Ensure(ctx, c, owner, want)", ensure},
	utilPath + ".SetControllerReference": {"children", "child.Ensure(ctx, c, owner, want), or child.Own(owner, obj, scheme)",
		"Ensure sets the owner reference"},
	ctrlPath + ".SetControllerReference": {"children", "child.Ensure(ctx, c, owner, want), or child.Own(owner, obj, scheme)",
		"Ensure sets the owner reference"},
	utilPath + ".SetOwnerReference":               {"children", "append to metadata.ownerReferences", "child.Own sets the controlling owner; a second owner is set by hand"},
	metaPath + ".SetStatusCondition":              {"conditions", "s := condition.Begin(obj, &obj.Status.Conditions); s.True(...), s.False(...); s.Patch(ctx, c)", "one patch of the status, and only if it changed"},
	metaPath + ".RemoveStatusCondition":           {"conditions", "s.Remove(conditionType)", ""},
	metaPath + ".FindStatusCondition":             {"conditions", "condition.Find(conditions, conditionType)", ""},
	metaPath + ".IsStatusConditionTrue":           {"conditions", "condition.IsTrue(conditions, conditionType, obj.Generation)", "it also asks whether the condition is about this generation"},
	metaPath + ".IsStatusConditionFalse":          {"conditions", "condition.Find(conditions, conditionType)", ""},
	reconcilePath + ".TerminalError":              {"requeues", "reconcile.Terminal(err)", ""},
	logPath + ".FromContext":                      {"logs", "reconcile.Logger(ctx)", "a *slog.Logger with controller, object and attempt"},
	ctrlPath + ".LoggerFrom":                      {"logs", "reconcile.Logger(ctx)", "a *slog.Logger with controller, object and attempt"},
	clientPath + ".IgnoreNotFound":                {"reads", "client.IgnoreNotFound(err)", ""},
	clientPath + ".MergeFrom":                     {"writes", "client.Diff(before, after)", "as the third argument of client.Patch"},
	clientPath + ".StrategicMergeFrom":            {"writes", "client.Diff(before, after)", "as the third argument of client.Patch"},
	clientPath + ".MergeFromWithOptions":          {"writes", "client.DiffWithLock(before, after)", "as the third argument of client.Patch"},
	clientPath + ".RawPatch":                      {"writes", "client.JSONPatch(ops), client.MergePatch(doc) or client.StrategicMerge(doc)", ""},
	sourcePath + ".Channel":                       {"watches", "controller.Channel(ch, handler)", ""},
	"k8s.io/client-go/util/retry.RetryOnConflict": {"writes", "return the error", "the queue tries again with growing delay; child.Ensure and condition.Patch do not conflict"},
}

const (
	cleanUp = "adds the finalizer, runs the steps once the object is deleted, and removes it"
	ensure  = "server-side apply of what is wanted, with the owner reference; sends nothing if nothing would change"
)

// requests has the replacement and the verb of each method of a client. %s is the kind.
var requests = map[string]struct{ aspect, flyball, verb string }{
	"Get":         {"reads", "client.Get[%s](ctx, c, key)", "get"},
	"List":        {"reads", "client.List[%s](ctx, c, opts...)", "list"},
	"Create":      {"writes", "client.Create(ctx, c, obj)", "create"},
	"Update":      {"writes", "client.Update(ctx, c, obj)", "update"},
	"Patch":       {"writes", "client.Patch(ctx, c, obj, client.Diff(before, obj))", "patch"},
	"Apply":       {"writes", `client.Apply(ctx, c, obj, "field-owner")`, "patch"},
	"Delete":      {"writes", "client.Delete(ctx, c, obj)", "delete"},
	"DeleteAllOf": {"writes", "client.DeleteAll[%s](ctx, c, opts...)", "deletecollection"},
}

// statusRequests are the methods of the writer of a subresource.
var statusRequests = map[string]string{
	"Update": "client.UpdateStatus(ctx, c, obj), or condition.Begin(...) and Patch",
	"Patch":  "client.PatchStatus(ctx, c, obj, client.DiffStatus(before, obj)), or condition.Begin(...) and Patch",
	"Apply":  "condition.Begin(...) and Patch",
}

// predicates are those of the peer.
var predicates = map[string]string{
	"GenerationChangedPredicate":      "predicate.GenerationChanged()",
	"TypedGenerationChangedPredicate": "predicate.GenerationChanged()",
	"ResourceVersionChangedPredicate": "predicate.ResourceVersionChanged()",
	"AnnotationChangedPredicate":      "predicate.AnnotationsChanged()",
	"LabelChangedPredicate":           "predicate.LabelsChanged()",
	"LabelSelectorPredicate":          "predicate.Labels(selector)",
	"NewPredicateFuncs":               "predicate.New[T](predicate.Funcs[*T]{...})",
	"NewTypedPredicateFuncs":          "predicate.New[T](predicate.Funcs[*T]{...})",
	"Funcs":                           "predicate.New[T](predicate.Funcs[*T]{...})",
	"TypedFuncs":                      "predicate.New[T](predicate.Funcs[*T]{...})",
	"And":                             "predicate.And(...)",
	"Or":                              "predicate.Or(...)",
	"Not":                             "predicate.Not(...)",
}

// controllerOptions are the fields of the peer's controller.Options.
var controllerOptions = map[string]known{
	"MaxConcurrentReconciles": {flyball: "controller.Options.Workers"},
	"RateLimiter":             {flyball: "controller.Options.RateLimiter", note: "a function that makes it"},
	"CacheSyncTimeout":        {flyball: "controller.Options.CacheSyncTimeout", note: "after it the controller works without what is missing, unless RequireSync is set"},
	"RecoverPanic":            {flyball: "the default; controller.Options.StopOnPanic is the opposite"},
	"NeedLeaderElection":      {flyball: "controller.Options.EveryReplica, which is the opposite"},
	"ReconciliationTimeout":   {flyball: "controller.Options.ReconcileTimeout"},
	"LogConstructor":          {flyball: "controller.Options.LogConstructor"},
	"Logger":                  {flyball: "controller.Options.Logger"},
	"UsePriorityQueue":        {flyball: "the default: the queue has priorities"},
	"SkipNameValidation":      {flyball: "not needed: names are unique for each manager, not for the process"},
	"EnableWarmup":            {flyball: "the default: a standby holds the kinds of the leader's controllers"},
	"NewQueue":                {flyball: "nothing: the queue is Flyball's; see controller.Options.Priority"},
}

// managerOptions are the fields of the peer's manager.Options.
var managerOptions = map[string]known{
	"Scheme":                        {flyball: "Options.Scheme", note: "nil has the stable versions of the built-in kinds"},
	"Cache":                         {flyball: "Options.Cache", note: "namespaces, selectors and kinds: cache.Options"},
	"NewCache":                      {flyball: "nothing: the cache is the packed one"},
	"Client":                        {flyball: "Options.Client"},
	"NewClient":                     {flyball: "Options.Client", note: "to wrap the client, wrap what you give to your reconcilers"},
	"MapperProvider":                {flyball: "Options.Client.Mapper"},
	"Logger":                        {flyball: "Options.Logger", note: "a *slog.Logger"},
	"LeaderElection":                {flyball: "Options.Leader, which is not nil; --leader-elect by Options.Bind"},
	"LeaderElectionID":              {flyball: "Options.Leader.Name"},
	"LeaderElectionNamespace":       {flyball: "Options.Leader.Namespace"},
	"LeaderElectionReleaseOnCancel": {flyball: "the default; Options.Leader.KeepOnStop is the opposite"},
	"LeaderElectionConfig":          {flyball: "nothing: the Lease is in the cluster of the manager"},
	"LeaderElectionResourceLock":    {flyball: "nothing: the lock is a Lease"},
	"LeaderElectionLabels":          {flyball: "nothing: label the Lease in your manifests; the labels stay"},
	"LeaseDuration":                 {flyball: "Options.Leader.LeaseDuration"},
	"RenewDeadline":                 {flyball: "Options.Leader.RenewDeadline"},
	"RetryPeriod":                   {flyball: "Options.Leader.RetryPeriod"},
	"Metrics":                       {flyball: "Options.Metrics", note: "beyond loopback with TLS and who may ask them, as with the filter for authentication and authorization"},
	"MetricsBindAddress":            {flyball: "Options.Metrics.Addr"},
	"HealthProbeBindAddress":        {flyball: "Options.Probes.Addr", note: "/readyz has checks for each watch, controller and certificate"},
	"ReadinessEndpointName":         {flyball: "nothing: it is /readyz"},
	"LivenessEndpointName":          {flyball: "nothing: they are /healthz and /livez"},
	"PprofBindAddress":              {flyball: "Options.Debug", note: "profiles are served beside the metrics"},
	"WebhookServer":                 {flyball: "Options.Webhooks", note: "certificates from files, or made, shared and rotated by the program"},
	"Port":                          {flyball: "Options.Webhooks.Addr"},
	"GracefulShutdownTimeout":       {flyball: "Options.GracePeriod"},
	"Controller":                    {flyball: "controller.Options of each controller"},
	"EventBroadcaster":              {flyball: "Options.Events", note: "limits of the recorder mgr.Events()"},
	"BaseContext":                   {flyball: "the context of mgr.Run(ctx)"},
}
