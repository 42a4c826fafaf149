package apiserver_test

import "strings"

// authorizerCases are about expressions that ask what a user may do.
var authorizerCases = []conformanceCase{
	{"policies that ask the authorizer", func(s *session) {
		may := `authorizer.group('').resource('configmaps').namespace(request.namespace)`
		s.grant("nora", rule("", "configmaps", "*"))
		s.grant("olaf", rule("", "configmaps", "*"), rule("", "configmaps/bypass", "create"), rule("apps", "deployments", "get", "one"))
		s.policy("Validating", "a", onMaps+`,"validations":[
			{"expression":"object == null || !has(object.metadata.labels) || !('bypass' in object.metadata.labels) || `+may+`.subresource('bypass').check('create').allowed()","messageExpression":"request.userInfo.username + ' may not bypass'"},
			{"expression":"object == null || !has(object.metadata.labels) || !('named' in object.metadata.labels) || authorizer.group('apps').resource('deployments').namespace('NS').name('one').check('get').allowed()","message":"no deployment"},
			{"expression":"object == null || !has(object.metadata.labels) || !('path' in object.metadata.labels) || authorizer.path('/healthz').check('get').allowed()","message":"no path"},
			{"expression":"object == null || !has(object.metadata.labels) || !('account' in object.metadata.labels) || authorizer.serviceAccount('NS', 'default').group('').resource('pods').check('list').allowed()","message":"no account"},
			{"expression":"object == null || !has(object.metadata.labels) || !('reason' in object.metadata.labels) || `+may+`.subresource('bypass').check('create').reason() == ''","message":"a reason"},
			{"expression":"object == null || !has(object.metadata.labels) || !('own' in object.metadata.labels) || authorizer.requestResource.check('delete').allowed()","message":"not the resource"}]`, denies)
		for _, user := range []string{"nora", "olaf"} {
			s.as(user)
			for _, label := range []string{"bypass", "named", "path", "account", "reason", "own", "other"} {
				s.post("~/configmaps", configMapOf(user+"-"+label, `"labels":{"`+label+`":""}`))
			}
			s.delete("~/configmaps/"+user+"-other", "")
		}
		s.grant("nobody", rule("", "configmaps", "*"))
		s.asAdmin()
		s.post("~/configmaps", configMapOf("bypass", `"labels":{"bypass":"","named":"","path":"","account":"","own":""}`))
	}},
	{"roles change what policies allow", func(s *session) {
		s.grant("petra", rule("", "configmaps", "*"))
		s.policy("Validating", "a", onMaps+`,"validations":[{"expression":"authorizer.group('example.com').resource('toys').namespace(request.namespace).check('play').allowed()","message":"no toys"}]`, denies)
		s.as("petra")
		s.post("~/configmaps", configMapOf("a"))
		s.asAdmin()
		s.post(rbacPath+"/namespaces/NS/roles", role("Role", "player", rule("example.com", "toys", "play")))
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "player", "Role", "player", person("petra")))
		s.settled(s.path(`{"user":"petra","resourceAttributes":{"namespace":"NS","verb":"play","group":"example.com","resource":"toys"}}`), true)
		s.as("petra")
		s.post("~/configmaps", configMapOf("a"))
		s.asAdmin()
	}},
	{"mutating policies and webhooks that ask the authorizer", func(s *session) {
		h := newHooks(s)
		h.answer["/deny"] = deny(`{"message":"a webhook says no"}`)
		s.grant("quinn", rule("", "configmaps", "*"))
		s.grant("rosa", rule("", "configmaps", "*"), rule("", "configmaps/skip", "create"))
		skip := `authorizer.group('').resource('configmaps').namespace(request.namespace).subresource('skip').check('create').allowed()`
		s.policy("Mutating", "a", strings.Replace(onMaps, `,"DELETE"`, "", 1)+`,"reinvocationPolicy":"Never","matchConditions":[{"name":"c","expression":"!`+skip+`"}],"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/data/mutated', value: 'yes'}]"}}]`, here)
		for _, user := range []string{"quinn", "rosa"} {
			s.as(user)
			s.post("~/configmaps", configMapOf(user))
		}
		s.asAdmin()
		h.configure("Validating", "a", h.hook("/deny", `"name":"deny.example.com","sideEffects":"None","matchConditions":[{"name":"c","expression":"!`+skip+`"}]`))
		for _, user := range []string{"quinn", "rosa"} {
			s.as(user)
			s.post("~/configmaps", configMapOf("hooked-"+user))
		}
		s.asAdmin()
	}},
}
