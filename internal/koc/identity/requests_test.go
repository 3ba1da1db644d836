package identity_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc/identity"
	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
)

const (
	demo = "11111111-0000-0000-0000-000000000001"
	ann  = "22222222-0000-0000-0000-000000000001"
	ops  = "33333333-0000-0000-0000-000000000001"
	mem  = "44444444-0000-0000-0000-000000000001"
	rdr  = "44444444-0000-0000-0000-000000000002"
	nova = "55555555-0000-0000-0000-000000000001"
	end  = "66666666-0000-0000-0000-000000000001"
	grp  = "77777777-0000-0000-0000-000000000001"
	one  = "88888888-0000-0000-0000-000000000001"
)

// have is what the fake cloud has. The user of its token is u1.
func have() []koctest.Stock {
	kind := func(path, keys, key, items string) koctest.Stock {
		return koctest.Stock{Service: "identity", Path: path, Keys: keys, Key: key, Items: items}
	}
	return []koctest.Stock{
		kind("/projects", "projects", "project", `[{"id":"`+demo+`","name":"demo","domain_id":"d1","tags":["blue","old"],"enabled":true,"links":{"self":"x"}},{"id":"p2","name":"twin"},{"id":"p3","name":"twin"}]`),
		kind("/users", "users", "user", `[{"id":"`+ann+`","name":"ann","domain_id":"d1","enabled":true,"email":"a@b"}]`),
		kind("/groups", "groups", "group", `[{"id":"`+ops+`","name":"ops","domain_id":"d1","description":""}]`),
		kind("/roles", "roles", "role", `[{"id":"`+mem+`","name":"member"},{"id":"`+rdr+`","name":"reader"}]`),
		kind("/domains", "domains", "domain", `[{"id":"d1","name":"corp","enabled":true,"description":"c"}]`),
		kind("/services", "services", "service", `[{"id":"`+nova+`","name":"nova","type":"compute","enabled":true}]`),
		kind("/endpoints", "endpoints", "endpoint", `[{"id":"`+end+`","service_id":"`+nova+`","interface":"public","url":"http://x","region":"R","region_id":"R","enabled":true}]`),
		kind("/OS-EP-FILTER/endpoint_groups", "endpoint_groups", "endpoint_group", `[{"id":"`+grp+`","name":"eg","filters":{"interface":"public"}}]`),
		kind("/regions", "regions", "region", `[{"id":"R","parent_region_id":null,"description":"d"}]`),
		kind("/policies", "policies", "policy", `[{"id":"`+one+`","type":"t","blob":"{}"}]`),
		kind("/credentials", "credentials", "credential", `[{"id":"`+one+`","type":"cert","user_id":"`+ann+`","blob":"b","project_id":null}]`),
		kind("/limits", "limits", "limit", `[{"id":"`+one+`","resource_name":"cores","resource_limit":5,"project_id":"`+demo+`"}]`),
		kind("/registered_limits", "registered_limits", "registered_limit", `[{"id":"`+one+`","resource_name":"cores","default_limit":5}]`),
		kind("/OS-FEDERATION/identity_providers", "identity_providers", "identity_provider", `[{"id":"idp","enabled":true,"remote_ids":["b","a"],"domain_id":"d1","description":null}]`),
		kind("/OS-FEDERATION/identity_providers/idp/protocols", "protocols", "protocol", `[{"id":"openid","mapping_id":"m"}]`),
		kind("/OS-FEDERATION/mappings", "mappings", "mapping", `[{"id":"m","rules":[]}]`),
		kind("/OS-FEDERATION/service_providers", "service_providers", "service_provider", `[{"id":"sp","enabled":true,"auth_url":"http://a","sp_url":"http://s","description":null}]`),
		kind("/OS-FEDERATION/projects", "projects", "project", `[{"id":"fp","name":"f","domain_id":"d1","enabled":true}]`),
		kind("/OS-FEDERATION/domains", "domains", "domain", `[{"id":"fd","name":"f","enabled":true,"description":""}]`),
		kind("/OS-OAUTH1/consumers", "consumers", "consumer", `[{"id":"`+one+`","description":"c"}]`),
		kind("/OS-TRUST/trusts", "trusts", "trust", `[{"id":"`+one+`","roles":[{"id":"r","name":"member"},{"id":"s","name":"reader"}],"roles_links":{},"project_id":"`+demo+`","impersonation":false,"trustee_user_id":"a","trustor_user_id":"b","expires_at":null}]`),
		kind("/role_inferences", "role_inferences", "", `[{"prior_role":{"id":"a","name":"admin"},"implies":[{"id":"m","name":"member"}]}]`),
	}
}

// write makes a file for a command to read.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCommandsSendWhatTheyShould(t *testing.T) {
	t.Parallel()
	rules := write(t, "rules.json", `[{"local":[]}]`)
	broken := write(t, "broken.json", `[{`)
	ids := write(t, "ids", "https://a \n b\n")
	filter := write(t, "filter.json", `{"interface":"public"}`)
	user, err := own(t)
	if err != nil {
		t.Fatal(err)
	}
	koctest.Test(t, identity.Commands(), have(), []koctest.Case{
		// Projects.
		{Line: "project create web --domain corp --parent demo --description d --tag b --tag a --tag b --property x=1 --property is_domain=True --immutable", API: `
			POST identity /projects {"project":{"name":"web","enabled":true,"description":"d","options":{"immutable":true},"domain_id":"d1","parent_id":"` + demo + `","x":"1","is_domain":true,"tags":["a","b"]}}`},
		{Line: "project create web --disable", API: `POST identity /projects {"project":{"name":"web","enabled":false,"tags":[]}}`},
		{Line: "project create web --property is_domain=maybe", Err: "expected true, false or none"},
		{Line: "project create demo --or-show", API: "POST identity /projects {\"project\":{\"name\":\"demo\",\"enabled\":true,\"tags\":[]}}\n= 409 {\"error\":{\"message\":\"taken\"}}", Out: `
			+-----------+--------------------------------------+
			| Field     | Value                                |
			+-----------+--------------------------------------+
			| domain_id | d1                                   |
			| enabled   | true                                 |
			| id        | 11111111-0000-0000-0000-000000000001 |
			| name      | demo                                 |
			| tags      | blue, old                            |
			+-----------+--------------------------------------+`},
		{Line: "project create demo", API: "POST identity /projects {\"project\":{\"name\":\"demo\",\"enabled\":true,\"tags\":[]}}\n= 409 {\"error\":{\"message\":\"taken\"}}", Err: "taken"},
		{Line: "project set demo --name new --tag green --remove-tag old --enable --domain corp", API: `PATCH identity /projects/` + demo + ` {"project":{"name":"new","enabled":true,"tags":["blue","green"]}}`},
		{Line: "project set demo --tag a --clear-tags", API: `PATCH identity /projects/` + demo + ` {"project":{"tags":["a"]}}`},
		{Line: "project set demo", Out: "-"},
		{Line: "project show demo --parents --children", API: `GET identity /projects/` + demo + "?parents_as_ids=&subtree_as_ids=\n" + `= {"project":{"id":"x","parents":null,"links":{}}}`},
		{Line: "project show twin", Err: "give the id of one: p2, p3"},
		{Line: "project show nope", Err: `no project has the name or id "nope"`},
		{Line: "project delete demo nope", API: "DELETE identity /projects/" + demo, Err: `delete project "nope": no project has the name or id "nope"`},
		{Line: "project list --domain corp --parent demo --tags a,b --not-tags-any c --long", API: "GET identity /projects?domain_id=d1&parent_id=" + demo + "&tags=a,b&not-tags-any=c\n= {\"projects\":[]}"},
		{Line: "project list --user ann", API: "GET identity /users/" + ann + "/projects\n= {\"projects\":[]}"},
		{Line: "project list --my-projects", API: "GET identity /users/" + user + "/projects\n= {\"projects\":[]}"},
		{Line: "project list", API: "GET identity /projects\n= 403 {\"error\":{\"message\":\"no\"}}\nGET identity /users/" + user + "/projects\n= {\"projects\":[{\"id\":\"o\",\"name\":\"own\"}]}", Out: `
			+----+------+
			| ID | Name |
			+----+------+
			| o  | own  |
			+----+------+`},
		{Line: "project list --sort name:desc -f value -c ID", Out: "p2\np3\n" + demo},
		{Line: "project list --sort name:up", Err: "neither asc nor desc"},
		// Domains.
		{Line: "domain create new --description d --no-immutable", API: `POST identity /domains {"domain":{"name":"new","enabled":true,"description":"d","options":{"immutable":false}}}`},
		{Line: "domain list --enabled --name corp", API: "GET identity /domains?enabled=true&name=corp\n= {\"domains\":[]}"},
		{Line: "domain set corp --disable", API: `PATCH identity /domains/d1 {"domain":{"enabled":false}}`},
		{Line: "domain show corp", Out: "+-------------+-------+\n| Field       | Value |\n+-------------+-------+\n| description | c     |\n| enabled     | true  |\n| id          | d1    |\n| name        | corp  |\n+-------------+-------+"},
		{Line: "domain delete corp", API: "DELETE identity /domains/d1"},
		// Users.
		{Line: "user create bob --domain corp --project demo --password pw --email b@c --ignore-password-expiry --enable-lock-password --multi-factor-auth-rule password,totp --multi-factor-auth-rule password", API: `
			POST identity /users {"user":{"name":"bob","enabled":true,"domain_id":"d1","default_project_id":"` + demo + `","email":"b@c","password":"pw",
			"options":{"ignore_password_expiry":true,"lock_password":true,"multi_factor_auth_rules":[["password","totp"],["password"]]}}}`},
		{Line: "user create bob --password-prompt", Stdin: "from stdin\n", API: `POST identity /users {"user":{"name":"bob","enabled":true,"password":"from stdin"}}`},
		{Line: "user create bob", API: `POST identity /users {"user":{"name":"bob","enabled":true}}`},
		{Line: "user set ann --password new --disable --no-ignore-lockout-failure-attempts", API: `PATCH identity /users/` + ann + ` {"user":{"password":"new","enabled":false,"options":{"ignore_lockout_failure_attempts":false}}}`},
		{Line: "user show ann --domain corp -f value -c id", Out: ann},
		{Line: "user delete ann", API: "DELETE identity /users/" + ann},
		{Line: "user list --group ops --domain corp", API: "GET identity /groups/" + ops + "/users?domain_id=d1\n= {\"users\":[]}"},
		{Line: "user list --project demo --long -f value", API: "GET identity /role_assignments?scope.project.id=" + demo + "\n" +
			`= {"role_assignments":[{"user":{"id":"` + ann + `"}},{"user":{"id":"` + ann + `"}},{"group":{"id":"g"}}]}`, Out: ann + "\tann\t\td1\t\ta@b\ttrue"},
		{Line: "user password set --password new --original-password old", API: `POST identity /users/` + user + `/password {"user":{"password":"new","original_password":"old"}}`},
		{Line: "user password set", Stdin: "old\nnew\n", API: `POST identity /users/` + user + `/password {"user":{"password":"new","original_password":"old"}}`},
		// Groups.
		{Line: "group create g --domain corp --description d", API: `POST identity /groups {"group":{"name":"g","domain_id":"d1","description":"d"}}`},
		{Line: "group set ops --name new", API: `PATCH identity /groups/` + ops + ` {"group":{"name":"new"}}`},
		{Line: "group show ops -f value -c name", Out: "ops"},
		{Line: "group delete ops", API: "DELETE identity /groups/" + ops},
		{Line: "group list --user ann --domain corp --long", API: "GET identity /users/" + ann + "/groups?domain_id=d1\n= {\"groups\":[]}"},
		{Line: "group add user ops ann nope", API: "PUT identity /groups/" + ops + "/users/" + ann, Err: `add user "nope"`},
		{Line: "group remove user ops ann", API: "DELETE identity /groups/" + ops + "/users/" + ann},
		{Line: "group contains user ops ann", API: "HEAD identity /groups/" + ops + "/users/" + ann, Out: "ann in group ops"},
		{Line: "group contains user ops ann", API: "HEAD identity /groups/" + ops + "/users/" + ann + "\n= 404", Err: "exit code 1"},
		{Line: "group contains user ops ann", Compat: true, API: "HEAD identity /groups/" + ops + "/users/" + ann + "\n= 404", Out: "-"},
		// Roles.
		{Line: "role create r --domain corp --description d", API: `POST identity /roles {"role":{"name":"r","domain_id":"d1","description":"d"}}`},
		{Line: "role set member --name m2", API: `PATCH identity /roles/` + mem + ` {"role":{"name":"m2"}}`},
		{Line: "role show member -f value -c id", Out: mem},
		{Line: "role delete member", API: "DELETE identity /roles/" + mem},
		{Line: "role list --domain corp -f value", API: "GET identity /roles?domain_id=d1\n= {\"roles\":[{\"id\":\"r\",\"name\":\"n\"}]}", Out: "r\tn\tcorp"},
		{Line: "role add member --user ann --project demo", API: "PUT identity /projects/" + demo + "/users/" + ann + "/roles/" + mem},
		{Line: "role add member --group ops --domain corp --inherited", API: "PUT identity /OS-INHERIT/domains/d1/groups/" + ops + "/roles/" + mem + "/inherited_to_projects"},
		{Line: "role add member --user ann --system all", API: "PUT identity /system/users/" + ann + "/roles/" + mem},
		{Line: "role add member --user ann", Err: "say on what the role is"},
		{Line: "role add member --project demo", Err: "say whose the role is"},
		{Line: "role add member --user ann --system all --inherited", Err: "not inherited"},
		{Line: "role add member --user nope --project demo", Err: `no user has the name or id "nope"`},
		{Line: "role remove member --user ann --project demo", API: "DELETE identity /projects/" + demo + "/users/" + ann + "/roles/" + mem},
		{Line: "role remove member --user 99999999-0000-0000-0000-000000000009 --project demo", API: "DELETE identity /projects/" + demo + "/users/99999999-0000-0000-0000-000000000009/roles/" + mem},
		{Line: "role assignment list --user ann --project demo --role member --effective --names --inherited", API: "GET identity /role_assignments?user.id=" + ann + "&scope.project.id=" + demo + "&role.id=" + mem +
			"&effective=true&include_names=true&scope.OS-INHERIT:inherited_to=projects\n" +
			`= {"role_assignments":[{"role":{"id":"r","name":"member"},"user":{"id":"u","name":"ann","domain":{"name":"corp"}},"scope":{"project":{"id":"p","name":"demo","domain":{"name":"corp"}},"OS-INHERIT:inherited_to":"projects"}}]}`, Out: `
			+--------+----------+-------+-----------+--------+--------+-----------+
			| Role   | User     | Group | Project   | Domain | System | Inherited |
			+--------+----------+-------+-----------+--------+--------+-----------+
			| member | ann@corp |       | demo@corp |        |        | true      |
			+--------+----------+-------+-----------+--------+--------+-----------+`},
		{Line: "role assignment list --auth-user --system all", API: "GET identity /role_assignments?user.id=" + user + "&scope.system=all\n= {\"role_assignments\":[]}"},
		{Line: "role assignment list --auth-project --domain corp", Err: "exclude each other"},
		{Line: "implied role create member --implied-role reader", API: "PUT identity /roles/" + mem + "/implies/" + rdr + "\n" + `= {"role_inference":{"prior_role":{"id":"a"},"implies":{"id":"b"}}}`, Out: `
			+------------+-------+
			| Field      | Value |
			+------------+-------+
			| implies    | b     |
			| prior_role | a     |
			+------------+-------+`},
		{Line: "implied role delete member --implied-role reader", API: "DELETE identity /roles/" + mem + "/implies/" + rdr},
		{Line: "implied role list -f value", Out: "a\tadmin\tm\tmember"},
		// Services, endpoints, regions, policies.
		{Line: "service create compute --name n --description d", API: `POST identity /services {"service":{"name":"n","description":"d","type":"compute","enabled":true}}`},
		{Line: "service set compute --name n2 --disable", API: `PATCH identity /services/` + nova + ` {"service":{"name":"n2","enabled":false}}`},
		{Line: "service show compute -f value -c name", Out: "nova"},
		{Line: "service delete nova volume", API: "DELETE identity /services/" + nova, Err: `no service has the name or id "volume"`},
		{Line: "service list --long -f value", Out: nova + "\tnova\tcompute\t\ttrue"},
		{Line: "endpoint create compute internal http://y --region R --disable", API: `POST identity /endpoints {"endpoint":{"service_id":"` + nova + `","interface":"internal","url":"http://y","region_id":"R","enabled":false}}`},
		{Line: "endpoint create compute outside http://y", Err: "outside"},
		{Line: "endpoint set " + end + " --url http://z --service nova", API: `PATCH identity /endpoints/` + end + ` {"endpoint":{"url":"http://z","service_id":"` + nova + `"}}`},
		{Line: "endpoint show " + end + " -f value -c service_type", Out: "compute"},
		{Line: "endpoint delete " + end, API: "DELETE identity /endpoints/" + end},
		{Line: "endpoint list --service compute --interface public --region R -f value", API: "GET identity /endpoints?service_id=" + nova + "&interface=public&region_id=R\n" +
			`= {"endpoints":[{"id":"e","region":"R","service_id":"` + nova + `","enabled":true,"interface":"public","url":"http://x"}]}`, Out: "e\tR\tnova\tcompute\ttrue\tpublic\thttp://x"},
		{Line: "endpoint list --project demo", API: "GET identity /OS-EP-FILTER/projects/" + demo + "/endpoints\n= {\"endpoints\":[]}"},
		{Line: "endpoint list --endpoint " + end, API: "GET identity /OS-EP-FILTER/endpoints/" + end + "/projects\n= {\"projects\":[]}"},
		{Line: "endpoint add project " + end + " demo", API: "PUT identity /OS-EP-FILTER/projects/" + demo + "/endpoints/" + end},
		{Line: "endpoint remove project " + end + " demo", API: "DELETE identity /OS-EP-FILTER/projects/" + demo + "/endpoints/" + end},
		{Line: "endpoint group create g " + filter + " --description d", API: `POST identity /OS-EP-FILTER/endpoint_groups {"endpoint_group":{"name":"g","description":"d","filters":{"interface":"public"}}}`},
		{Line: "endpoint group create g " + broken, Err: "is no JSON"},
		{Line: "endpoint group create g /nonexistent/file", Err: "no such file"},
		{Line: "endpoint group set eg --filters " + filter, API: `PATCH identity /OS-EP-FILTER/endpoint_groups/` + grp + ` {"endpoint_group":{"filters":{"interface":"public"}}}`},
		{Line: "endpoint group show eg -f value -c name", Out: "eg"},
		{Line: "endpoint group list -f value -c Name", Out: "eg"},
		{Line: "endpoint group list --endpointgroup eg", API: "GET identity /OS-EP-FILTER/endpoint_groups/" + grp + "/projects\n= {\"projects\":[]}"},
		{Line: "endpoint group list --project demo", API: "GET identity /OS-EP-FILTER/projects/" + demo + "/endpoint_groups\n= {\"endpoint_groups\":[]}"},
		{Line: "endpoint group delete eg", API: "DELETE identity /OS-EP-FILTER/endpoint_groups/" + grp},
		{Line: "endpoint group add project eg demo", API: "PUT identity /OS-EP-FILTER/endpoint_groups/" + grp + "/projects/" + demo},
		{Line: "endpoint group remove project eg demo", API: "DELETE identity /OS-EP-FILTER/endpoint_groups/" + grp + "/projects/" + demo},
		{Line: "region create S --parent-region R --description d", API: `POST identity /regions {"region":{"id":"S","parent_region_id":"R","description":"d"}}`},
		{Line: "region set R --description d2", API: `PATCH identity /regions/R {"region":{"description":"d2"}}`},
		{Line: "region show R -f value", Out: "d\n\nR"},
		{Line: "region list --parent-region R", API: "GET identity /regions?parent_region_id=R\n= {\"regions\":[]}"},
		{Line: "region delete R", API: "DELETE identity /regions/R"},
		{Line: "policy create " + rules, API: `POST identity /policies {"policy":{"type":"application/json","blob":"[{\"local\":[]}]"}}`},
		{Line: "policy set " + one + " --rules " + rules, API: `PATCH identity /policies/` + one + ` {"policy":{"blob":"[{\"local\":[]}]"}}`},
		{Line: "policy show " + one + " -f value -c rules", Out: "{}"},
		{Line: "policy list --long -f value", Out: one + "\tt\t{}"},
		{Line: "policy delete " + one, API: "DELETE identity /policies/" + one},
		// Credentials.
		{Line: "credential create ann blob --type totp --project demo", API: `POST identity /credentials {"credential":{"type":"totp","project_id":"` + demo + `","user_id":"` + ann + `","blob":"blob"}}`},
		{Line: "credential set " + one + " --user ann --type cert --data b", API: `PATCH identity /credentials/` + one + ` {"credential":{"user_id":"` + ann + `","type":"cert","blob":"b"}}`},
		{Line: "credential set " + one + " --user ann", Err: "--type"},
		{Line: "credential show " + one + " -f value -c blob", Out: "b"},
		{Line: "credential list --user ann --type cert", API: "GET identity /credentials?user_id=" + ann + "&type=cert\n= {\"credentials\":[]}"},
		{Line: "credential delete " + one, API: "DELETE identity /credentials/" + one},
		{Line: "ec2 credentials create --user ann --project demo", API: `POST identity /users/` + ann + `/credentials/OS-EC2 {"tenant_id":"` + demo + `"}` + "\n" + `= {"credential":{"access":"a","secret":"s","tenant_id":"t","user_id":"u"}}`, Out: `
			+------------+-------+
			| Field      | Value |
			+------------+-------+
			| access     | a     |
			| project_id | t     |
			| secret     | s     |
			| user_id    | u     |
			+------------+-------+`},
		{Line: "ec2 credentials list", API: "GET identity /users/" + user + "/credentials/OS-EC2\n= {\"credentials\":[{\"access\":\"a\",\"secret\":\"s\",\"tenant_id\":\"t\",\"user_id\":\"u\"}]}", Out: `
			+--------+--------+------------+---------+
			| Access | Secret | Project ID | User ID |
			+--------+--------+------------+---------+
			| a      | s      | t          | u       |
			+--------+--------+------------+---------+`},
		{Line: "ec2 credentials show key", API: "GET identity /users/" + user + "/credentials/OS-EC2/key\n= {\"credential\":{\"access\":\"key\"}}"},
		{Line: "ec2 credentials show key", API: "GET identity /users/" + user + "/credentials/OS-EC2/key\n= 404", Err: `no access key has the name or id "key"`},
		{Line: "ec2 credentials delete k1 k2", API: "DELETE identity /users/" + user + "/credentials/OS-EC2/k1\nDELETE identity /users/" + user + "/credentials/OS-EC2/k2"},
		{Line: `application credential create ci --role member --secret s --expiration 2030-01-02T03:04:05 --unrestricted --access-rules '[{"service":"compute","method":"GET","path":"/"}]'`, API: `
			POST identity /users/` + user + `/application_credentials {"application_credential":{"name":"ci","unrestricted":true,"secret":"s","expires_at":"2030-01-02T03:04:05.000000Z",
			"access_rules":[{"service":"compute","method":"GET","path":"/"}],"roles":[{"id":"` + mem + `"}]}}`},
		{Line: "application credential create ci --expiration tomorrow", Err: "--expiration"},
		{Line: "application credential create ci --access-rules nope", Err: "neither JSON nor a file"},
		{Line: "application credential list --user ann", API: "GET identity /users/" + ann + "/application_credentials\n= {\"application_credentials\":[]}"},
		{Line: "application credential show ci -f value", API: "GET identity /users/" + user + "/application_credentials?name=ci\n" +
			`= {"application_credentials":[{"id":"i","name":"ci","roles":[{"name":"member"},{"name":"reader"}]}]}`, Out: "i\nci\nmember reader"},
		{Line: "application credential delete ci", API: "GET identity /users/" + user + "/application_credentials?name=ci\n" +
			`= {"application_credentials":[{"id":"i","name":"ci"}]}` + "\nDELETE identity /users/" + user + "/application_credentials/i"},
		{Line: "access rule list", API: "GET identity /users/" + user + "/access_rules\n= {\"access_rules\":[]}"},
		{Line: "access rule show r1", API: "GET identity /users/" + user + "/access_rules/r1\n= {\"access_rule\":{\"id\":\"r1\"}}"},
		{Line: "access rule delete r1", API: "GET identity /users/" + user + "/access_rules/r1\n= {\"access_rule\":{\"id\":\"r1\"}}\nDELETE identity /users/" + user + "/access_rules/r1"},
		// Federation.
		{Line: "identity provider create new --remote-id-file " + ids + " --domain corp --description d --disable", API: `PUT identity /OS-FEDERATION/identity_providers/new {"identity_provider":{"enabled":false,"description":"d","remote_ids":["https://a","b"],"domain_id":"d1"}}`},
		{Line: "identity provider set idp --remote-id x --enable", API: `PATCH identity /OS-FEDERATION/identity_providers/idp {"identity_provider":{"enabled":true,"remote_ids":["x"]}}`},
		{Line: "identity provider show idp -f value -c remote_ids", Out: "a, b"},
		{Line: "identity provider list --enabled", API: "GET identity /OS-FEDERATION/identity_providers?enabled=true\n= {\"identity_providers\":[]}"},
		{Line: "identity provider delete idp", API: "DELETE identity /OS-FEDERATION/identity_providers/idp"},
		{Line: "federation protocol create saml2 --identity-provider idp --mapping m", API: `PUT identity /OS-FEDERATION/identity_providers/idp/protocols/saml2 {"protocol":{"mapping_id":"m"}}`},
		{Line: "federation protocol set openid --identity-provider idp --mapping m2", API: `PATCH identity /OS-FEDERATION/identity_providers/idp/protocols/openid {"protocol":{"mapping_id":"m2"}}`},
		{Line: "federation protocol show openid --identity-provider idp -f value", Out: "openid\nm"},
		{Line: "federation protocol list --identity-provider idp -f value", Out: "openid\tm"},
		{Line: "federation protocol delete openid --identity-provider idp", API: "DELETE identity /OS-FEDERATION/identity_providers/idp/protocols/openid"},
		{Line: "mapping create n --rules " + rules, API: `PUT identity /OS-FEDERATION/mappings/n {"mapping":{"rules":[{"local":[]}]}}`},
		{Line: "mapping set m --rules " + rules, API: `PATCH identity /OS-FEDERATION/mappings/m {"mapping":{"rules":[{"local":[]}]}}`},
		{Line: "mapping show m -f value -c id", Out: "m"},
		{Line: "mapping list -f value", Out: "m"},
		{Line: "mapping delete m", API: "DELETE identity /OS-FEDERATION/mappings/m"},
		{Line: "service provider create n --auth-url http://a --service-provider-url http://s", API: `PUT identity /OS-FEDERATION/service_providers/n {"service_provider":{"auth_url":"http://a","sp_url":"http://s","enabled":true}}`},
		{Line: "service provider set sp --service-provider-url http://t --disable", API: `PATCH identity /OS-FEDERATION/service_providers/sp {"service_provider":{"sp_url":"http://t","enabled":false}}`},
		{Line: "service provider show sp -f value -c auth_url", Out: "http://a"},
		{Line: "service provider list -f value -c 'Auth URL'", Out: "http://a"},
		{Line: "service provider delete sp", API: "DELETE identity /OS-FEDERATION/service_providers/sp"},
		{Line: "federation project list -f value", Out: "fp\td1\ttrue\tf"},
		{Line: "federation domain list -f value", Out: "fd\ttrue\tf"},
		// OAuth.
		{Line: "consumer create --description d", API: `POST identity /OS-OAUTH1/consumers {"consumer":{"description":"d"}}`},
		{Line: "consumer set " + one + " --description e", API: `PATCH identity /OS-OAUTH1/consumers/` + one + ` {"consumer":{"description":"e"}}`},
		{Line: "consumer show " + one + " -f value -c description", Out: "c"},
		{Line: "consumer list -f value", Out: one + "\tc"},
		{Line: "consumer delete " + one, API: "DELETE identity /OS-OAUTH1/consumers/" + one},
		{Line: "request token authorize --request-key k --role member", API: `PUT identity /OS-OAUTH1/authorize/k {"roles":[{"id":"` + mem + `"}]}` + "\n" + `= {"token":{"oauth_verifier":"v"}}`},
		// Limits.
		{Line: "limit create cores --project demo --service compute --resource-limit 5 --region None", API: `POST identity /limits {"limits":[{"resource_name":"cores","region_id":null,"project_id":"` + demo + `","service_id":"` + nova + `","resource_limit":5}]}` + "\n" + `= {"limits":[{"id":"l"}]}`},
		{Line: "limit set " + one + " --resource-limit 7", API: `PATCH identity /limits/` + one + ` {"limit":{"resource_limit":7}}`},
		{Line: "limit show " + one + " -f value -c resource_limit", Out: "5"},
		{Line: "limit list --service compute --resource-name cores --region R --project demo", API: "GET identity /limits?service_id=" + nova + "&resource_name=cores&region_id=R&project_id=" + demo + "\n= {\"limits\":[]}"},
		{Line: "limit delete " + one, API: "DELETE identity /limits/" + one},
		{Line: "registered limit create cores --service compute --default-limit 5 --region R", API: `POST identity /registered_limits {"registered_limits":[{"resource_name":"cores","region_id":"R","service_id":"` + nova + `","default_limit":5}]}` + "\n" + `= {"registered_limits":[{"id":"l"}]}`},
		{Line: "registered limit set " + one + " --default-limit 7", API: `PATCH identity /registered_limits/` + one + ` {"registered_limit":{"default_limit":7}}`},
		{Line: "registered limit show " + one + " -f value -c default_limit", Out: "5"},
		{Line: "registered limit list -f value -c 'Resource Name'", Out: "cores"},
		{Line: "registered limit delete " + one, API: "DELETE identity /registered_limits/" + one},
		// Tokens, the catalogue, trusts.
		{Line: "token revoke t", API: "DELETE identity /auth/tokens\nH X-Subject-Token: t"},
		{Line: "catalog show compute -f value -c type", Out: "compute"},
		{Line: "catalog show nope", Err: `no service of the catalogue has the name or id "nope"`},
		{Line: "catalog list -f value -c Type --sort-column Type"},
		{Line: "token issue -f value -c user_id", Out: user},
		{Line: "trust create ann ann --project demo --role member --impersonate --expiration 2030-01-02T03:04:05", API: `POST identity /OS-TRUST/trusts {"trust":{"trustor_user_id":"` + ann + `","trustee_user_id":"` + ann + `","project_id":"` + demo + `","impersonation":true,"roles":[{"id":"` + mem + `"}],"expires_at":"2030-01-02T03:04:05.000000Z"}}`},
		{Line: "trust show " + one + " -f value -c roles", Out: "member reader"},
		{Line: "trust list -f value -c ID", Out: one},
		{Line: "trust delete " + one, API: "DELETE identity /OS-TRUST/trusts/" + one},
	})
}

// own is the id of the user of the fake cloud's token.
func own(t *testing.T) (string, error) {
	t.Helper()
	out, err := koctest.Run(t, identity.Commands(), have(), koctest.Case{Line: "token issue -f value -c user_id"})
	return strings.TrimSpace(out), err
}

// The exchange of OAuth is tested by itself: its requests are signed anew each time.
func TestEveryCommandIsTried(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("requests_test.go")
	if err != nil {
		t.Fatal(err)
	}
	exempt := []string{"request token create", "access token create"}
	for _, e := range identity.Commands() {
		if !strings.Contains(string(text), "Line: \""+e.Name) && !strings.Contains(string(text), "Line: `"+e.Name) && !slices.Contains(exempt, e.Name) {
			t.Errorf("no case tries %q", e.Name)
		}
	}
}
