package volume_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
	"github.com/holdfast-ops/holdfast/internal/koc/volume"
)

// have is what the fake cloud has.
func have() []koctest.Stock {
	one := func(path, keys, key, items string) koctest.Stock {
		return koctest.Stock{Service: "volume", Path: path, Keys: keys, Key: key, Items: items}
	}
	return []koctest.Stock{
		one("/volumes", "volumes", "volume", `[
			{"id":"v1","name":"data","status":"available","size":2,"volume_type":"slow","bootable":"false","metadata":{"a":"1","b":"2"},"volume_image_metadata":{"os":"linux"},
				"attachments":[],"os-vol-host-attr:host":"node1@lvm#pool","links":[]},
			{"id":"v2","name":"used","status":"in-use","size":5,"volume_type":"fast","bootable":"true","metadata":{},"attachments":[{"server_id":"s1","device":"/dev/vdb"},{"server_id":"gone","device":"/dev/vdc"}],
				"os-vol-host-attr:host":"node10@lvm#pool"}]`),
		one("/snapshots", "snapshots", "snapshot", `[{"id":"sn1","name":"snap","status":"available","size":3,"volume_id":"v1","description":null,"created_at":"2026-01-02T03:04:05.000000","metadata":{"k":"v"}}]`),
		one("/backups", "backups", "backup", `[{"id":"b1","name":"bk","status":"available","size":1,"volume_id":"v1","metadata":{"k":"v"},"links":[],"availability_zone":"nova","container":"c"}]`),
		one("/groups", "groups", "group", `[{"id":"g1","name":"grp","status":"available","group_type":"gt1","volume_types":["t1"]}]`),
		one("/group_snapshots", "group_snapshots", "group_snapshot", `[{"id":"gs1","name":"gsnap","status":"available","group_id":"g1"}]`),
		one("/group_types", "group_types", "group_type", `[{"id":"gt1","name":"gtype","is_public":"None","description":"d","group_specs":{"k":"v","l":"w"}}]`),
		one("/consistencygroups", "consistencygroups", "consistencygroup", `[{"id":"cg1","name":"cg","status":"available","volume_types":["t2","t1"],"availability_zone":"nova"}]`),
		one("/cgsnapshots", "cgsnapshots", "cgsnapshot", `[{"id":"cs1","name":"cgsnap","status":"available","consistencygroup_id":"cg1"}]`),
		one("/types", "volume_types", "volume_type", `[
			{"id":"t1","name":"fast","os-volume-type-access:is_public":true,"description":null,"extra_specs":{"k":"v"},"qos_specs_id":null},
			{"id":"t2","name":"hidden","os-volume-type-access:is_public":false,"description":"d","extra_specs":{},"qos_specs_id":null}]`),
		one("/qos-specs", "qos_specs", "qos_specs", `[{"id":"q1","name":"gold","consumer":"both","specs":{"k":"v","l":"w"}},{"id":"q2","name":"lead","consumer":"front-end","specs":{}}]`),
		one("/attachments", "attachments", "attachment", `[{"id":"a1","volume_id":"v2","instance":"s1","status":"attached","attach_mode":"rw","attached_at":"t","detached_at":"","connection_info":{"x":"y"}}]`),
		one("/messages", "messages", "message", `[{"id":"m1","event_id":"e","user_message":"no room"}]`),
		one("/volume-transfers", "transfers", "transfer", `[{"id":"tr1","name":"offer","volume_id":"v1"}]`),
		one("/os-volume-transfer", "transfers", "transfer", `[{"id":"tr0","name":"old offer","volume_id":"v1"}]`),
		{Service: "identity", Path: "/projects", Keys: "projects", Key: "project", Items: `[{"id":"p9","name":"demo"}]`},
		{Service: "identity", Path: "/users", Keys: "users", Key: "user", Items: `[{"id":"u9","name":"bob"}]`},
		{Service: "compute", Path: "/servers", Keys: "servers", Key: "server", Items: `[{"id":"s1","name":"web1"}]`},
		{Service: "image", Path: "/images", Keys: "images", Key: "", Items: `[{"id":"i1","name":"cirros"}]`},
	}
}

func test(t *testing.T, cases []koctest.Case) {
	t.Helper()
	koctest.Test(t, volume.Commands(), have(), cases)
}

func TestVolumes(t *testing.T) {
	t.Parallel()
	test(t, []koctest.Case{
		{Line: "volume create --size 1 new", API: `POST volume /volumes {"volume":{"name":"new","size":1}}
			H OpenStack-API-Version: volume latest
			= {"volume":{"id":"n","metadata":{"a":"b"},"volume_type":"fast","links":[]}}`, Out: `
+------------+-------+
| Field      | Value |
+------------+-------+
| id         | n     |
| properties | a='b' |
| type       | fast  |
+------------+-------+`},
		{
			Line: "volume create new --type fast --image cirros --size 3 --description d --availability-zone z --consistency-group cg --property a=1 --property b=2 --hint x=1 --hint y=1 --hint y=2 --hint y=3 -f value -c name",
			API: `POST volume /volumes {"volume":{"name":"new","size":3,"volume_type":"fast","imageRef":"i1","description":"d","availability_zone":"z","consistencygroup_id":"cg1","metadata":{"a":"1","b":"2"}},
				"OS-SCH-HNT:scheduler_hints":{"x":"1","y":["1","2","3"]}}`,
			Out: "new",
		},
		{Line: "volume create --snapshot snap", API: `POST volume /volumes {"volume":{"snapshot_id":"sn1","size":3}}`},
		{Line: "volume create --snapshot snap --size 9", API: `POST volume /volumes {"volume":{"snapshot_id":"sn1","size":9}}`},
		{Line: "volume create --source data --group grp", API: `POST volume /volumes {"volume":{"source_volid":"v1","group_id":"g1"}}`},
		{Line: "volume create --backup bk", API: `POST volume /volumes {"volume":{"backup_id":"b1"}}`},
		{Line: "volume create --backup bk", Compat: true, Err: "--backup requires volume API microversion 3.47 or later, and 3.0 is asked for"},
		{Line: "volume create x", Err: "give --size"},
		{Line: "volume create x --size 1 --image cirros --source data", Err: "--source"},
		{Line: "volume create x --source nope", Err: `no volume has the name or id "nope"`},
		{Line: "volume create x --remote-source source-name=lv --host node1@lvm#pool --bootable", API: `
			POST volume /os-volume-manage {"volume":{"name":"x","ref":{"source-name":"lv"},"host":"node1@lvm#pool","bootable":true}}`},
		{Line: "volume create x --remote-source source-name=lv", Err: "--remote-source needs --host or --cluster"},
		{Line: "volume create --size 1 x --bootable --read-only", API: `
			POST volume /volumes {"volume":{"name":"x","size":1}}
			GET volume /volumes/new
			= {"volume":{"id":"new","status":"creating"}}
			GET volume /volumes/new
			= {"volume":{"id":"new","status":"available"}}
			POST volume /volumes/new/action {"os-set_bootable":{"bootable":true}}
			POST volume /volumes/new/action {"os-update_readonly_flag":{"readonly":true}}`},
		{Line: "volume create --size 1 x --wait -f value -c status", API: `
			POST volume /volumes {"volume":{"name":"x","size":1}}
			GET volume /volumes/new
			= {"volume":{"id":"new","status":"available"}}
			GET volume /volumes/new
			= {"volume":{"id":"new","status":"available"}}`, Out: "available"},
		{Line: "volume create --size 1 x --wait", API: `
			POST volume /volumes {"volume":{"name":"x","size":1}}
			GET volume /volumes/new
			= {"volume":{"id":"new","status":"error"}}`, Err: `volume new was created, but: volume "new" went into the state error`},

		{Line: "volume delete data used", API: "DELETE volume /volumes/v1\nDELETE volume /volumes/v2", Out: "-"},
		{Line: "volume delete data --purge", API: "DELETE volume /volumes/v1?cascade=True"},
		{Line: "volume delete data --force", API: `POST volume /volumes/v1/action {"os-force_delete":null}`},
		{Line: "volume delete data --remote", API: `POST volume /volumes/v1/action {"os-unmanage":null}`},
		{Line: "volume delete nope data", API: "DELETE volume /volumes/v1", Err: "1 of 2 volumes failed to delete"},
		{Line: "volume delete data --wait", API: "DELETE volume /volumes/v1\nGET volume /volumes/v1\n= {\"volume\":{\"id\":\"v1\",\"status\":\"deleting\"}}\nGET volume /volumes/v1\n= 404 {}"},
		{Line: "volume delete data --wait", API: "DELETE volume /volumes/v1\nGET volume /volumes/v1\n= {\"volume\":{\"id\":\"v1\",\"status\":\"error_deleting\"}}", Err: "went into the state error_deleting"},

		{Line: "volume extend data 4", API: `POST volume /volumes/v1/action {"os-extend":{"new_size":4}}`},
		{Line: "volume extend data 2", Err: "the new size 2 is not larger"},
		{Line: "volume extend data big", Err: "is no number of GiB"},
		{Line: "volume extend used 9", Compat: true, Err: `making volume "v2" larger while it is in-use requires volume API microversion 3.42`},
		{Line: "volume extend data 4 --wait", API: `
			POST volume /volumes/v1/action {"os-extend":{"new_size":4}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"error_extending"}}`, Err: "went into the state error_extending"},

		{Line: "volume migrate data --host node2@lvm#pool --lock-volume", API: `POST volume /volumes/v1/action {"os-migrate_volume":{"host":"node2@lvm#pool","force_host_copy":false,"lock_volume":true}}`},
		{Line: "volume migrate data --host n --force-host-copy --wait", API: `
			POST volume /volumes/v1/action {"os-migrate_volume":{"host":"n","force_host_copy":true,"lock_volume":false}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"available","migration_status":"migrating"}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"available","migration_status":"success"}}`},
		{Line: "volume migrate data --host n --wait", API: `
			POST volume /volumes/v1/action *
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"available","migration_status":"error"}}`, Err: `volume "v1" could not be moved to n`},
		{Line: "volume migrate data --host n --wait", API: `
			POST volume /volumes/v1/action *
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"error"}}`, Err: "state error"},

		{Line: "volume revert snap", API: `POST volume /volumes/v1/action {"revert":{"snapshot_id":"sn1"}}`},
		{Line: "volume revert snap --wait", API: `
			POST volume /volumes/v1/action {"revert":{"snapshot_id":"sn1"}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"reverting"}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"available"}}`},
		{Line: "volume summary", API: `GET volume /volumes/summary
			= {"volume-summary":{"total_size":5,"total_count":2,"metadata":{"a":["1"]}}}`, Out: `
+-------------+-----------+
| Field       | Value     |
+-------------+-----------+
| Total Count | 2         |
| Total Size  | 5         |
| Metadata    | a='['1']' |
+-------------+-----------+`},
		{Line: "volume summary --all-projects", API: "GET volume /volumes/summary?all_tenants=True\n= {\"volume-summary\":{}}"},
		{Line: "volume show data -f value -c properties -c type -c size", Out: "a='1', b='2'\n2\nslow"},
		{Line: "volume show nope", Err: `no volume has the name or id "nope"`},
		{Line: "volume unset data --property a --image-property os", API: `
			DELETE volume /volumes/v1/metadata/a
			POST volume /volumes/v1/action {"os-unset_image_metadata":{"key":"os"}}`},
		{Line: "volume unset data --property a --property z", Err: `volume "v1" has no property "z"`},
		{Line: "volume unset data --image-property z", Err: `volume "v1" has no property "z"`},
	})
}

func TestVolumeList(t *testing.T) {
	t.Parallel()
	test(t, []koctest.Case{
		{Line: "volume list -f value", Out: "v1\tdata\tavailable\t2\t\nv2\tused\tin-use\t5\tAttached to web1 on /dev/vdb Attached to gone on /dev/vdc"},
		{Line: "volume list --long -f value -c Type -c Properties -c Bootable", Out: "slow\ta='1', b='2'\tfalse\nfast\t\ttrue"},
		{
			Line: "volume list -f csv -c Name -c 'Attached to'", Compat: true, API: "GET volume /volumes/detail\nH OpenStack-API-Version: volume 3.0\n= {\"volumes\":[{\"name\":\"x\",\"attachments\":[{\"server_id\":\"s1\",\"device\":null}]}]}",
			Out: `"Name","Attached to"` + "\n" + `"x","[{'server_id': 's1', 'device': None}]"`,
		},
		{Line: "volume list -f table -c 'Display Name' -c Name", Compat: true, API: "GET volume /volumes/detail\n= {\"volumes\":[{\"name\":\"x\"}]}", Out: `
+------+--------------+
| Name | Display Name |
+------+--------------+
| x    | x            |
+------+--------------+`},
		{Line: "volume list -f json -c Name -c 'Attached to'", Compat: true, API: "GET volume /volumes/detail\n= {\"volumes\":[]}", Out: "[]"},
		{Line: "volume list -f value -c ID --name n --status error --user bob --project demo --property k=v --bootable true --availability-zone z --limit 5 --marker m", API: `
			GET volume /volumes/detail?name=n&status=error&user_id=u9&project_id=p9&all_tenants=1&metadata=%7B%27k%27:+%27v%27%7D&bootable=true&availability_zone=z&limit=5&marker=m
			= {"volumes":[]}`},
		{Line: "volume list -f value -c ID", Env: map[string]string{"ALL_PROJECTS": "yes"}, API: "GET volume /volumes/detail?all_tenants=1\n= {\"volumes\":[]}"},
		{Line: "volume list -f value -c ID --all-projects=false", Env: map[string]string{"ALL_PROJECTS": "1"}, API: "GET volume /volumes/detail\n= {\"volumes\":[]}"},
		// The host is looked for here, and the limit is of what is found.
		{Line: "volume list -f value -c ID --host node1", Out: "v1"},
		{Line: "volume list -f value -c ID --host node1@lvm --limit 1", API: `
			GET volume /volumes/detail
			= {"volumes":[{"id":"x","os-vol-host-attr:host":"other@lvm#p"}],"volumes_links":[{"rel":"next","href":"https://volume.test/v3/p1/volumes/detail?marker=x"}]}
			GET volume /volumes/detail?marker=x
			= {"volumes":[{"id":"y","os-vol-host-attr:host":"node1@lvm#p"},{"id":"z","os-vol-host-attr:host":"node1@lvm#q"}]}`, Out: "y"},
		{Line: "volume list -f value -c ID --host node1@lvm#pool --type fast", Out: "-"},
		{Line: "volume list -f value -c ID -c Host --type t1", Out: "v2\tnode10@lvm#pool"},
		{Line: "volume list --type nope", Err: `no volume type has the name or id "nope"`},
		{Line: "volume list -f value -c ID --host node1", API: "GET volume /volumes/detail\n= {\"volumes\":[{\"id\":\"x\"}]}", Out: "-"},
	})
}

func TestVolumeSet(t *testing.T) {
	t.Parallel()
	test(t, []koctest.Case{
		{Line: "volume set data", Out: "-"},
		{
			Line: "volume set data --name n --description d --size 4 --property c=3 --image-property os=bsd --state available --detached --bootable --read-write --type fast --retype-policy on-demand",
			API: `
				POST volume /volumes/v1/action {"os-extend":{"new_size":4}}
				POST volume /volumes/v1/metadata {"metadata":{"c":"3"}}
				POST volume /volumes/v1/action {"os-set_image_metadata":{"metadata":{"os":"bsd"}}}
				POST volume /volumes/v1/action {"os-reset_status":{"status":"available","attach_status":"detached"}}
				POST volume /volumes/v1/action {"os-set_bootable":{"bootable":true}}
				POST volume /volumes/v1/action {"os-update_readonly_flag":{"readonly":false}}
				POST volume /volumes/v1/action {"os-retype":{"new_type":"t1","migration_policy":"on-demand"}}
				PUT volume /volumes/v1 {"volume":{"name":"n","description":"d"}}`,
			Out: "-",
		},
		{Line: "volume set data --no-property", API: `PUT volume /volumes/v1/metadata {"metadata":{}}`},
		{Line: "volume set data --no-property --property x=y", API: `PUT volume /volumes/v1/metadata {"metadata":{"x":"y"}}`},
		{Line: "volume set data --attached --non-bootable", API: `
			POST volume /volumes/v1/action {"os-reset_status":{"attach_status":"attached"}}
			POST volume /volumes/v1/action {"os-set_bootable":{"bootable":false}}`},
		{Line: "volume set data --state error --name n", API: `
			POST volume /volumes/v1/action *
			= 403 {"forbidden":{"message":"no"}}
			PUT volume /volumes/v1 {"volume":{"name":"n"}}`, Err: "set the state: no"},
		{Line: "volume set data --size 1", Err: "is not larger than that of volume"},
		{Line: "volume set data --type nope --name n", Err: `no volume type has the name or id "nope"`},
		{Line: "volume set data --migration-policy never", Err: "--retype-policy is of use only with --type"},
		{Line: "volume set data --retype-policy never", Compat: true, Out: "-"},
		{Line: "volume set data --state on-fire", Err: "on-fire"},
		{Line: "volume set data --type fast --migration-policy on-demand --wait", API: `
			POST volume /volumes/v1/action {"os-retype":{"new_type":"t1","migration_policy":"on-demand"}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"retyping","volume_type":"slow"}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"available","migration_status":"migrating","volume_type":"slow"}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"available","migration_status":"success","volume_type":"fast"}}`},
		{Line: "volume set data --type fast --wait", API: `
			POST volume /volumes/v1/action {"os-retype":{"new_type":"t1","migration_policy":"never"}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"available","migration_status":null,"volume_type":"slow"}}`, Err: `volume "v1" was not changed: it has the type slow, not fast`},
		{Line: "volume set data --type fast --wait", API: `
			POST volume /volumes/v1/action *
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"available","migration_status":"error","volume_type":"slow"}}`, Err: "could not be moved for its new type"},
		{Line: "volume set data --type fast --wait", API: `
			POST volume /volumes/v1/action *
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"error","volume_type":"slow"}}`, Err: "went into the state error"},
		{Line: "volume set data --type fast --wait --wait-timeout 1500ms", API: `
			POST volume /volumes/v1/action *
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"retyping"}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"retyping"}}`, Err: `gave up waiting for volume v1 to have the type fast`},
		{Line: "volume set data --size 4 --wait", API: `
			POST volume /volumes/v1/action {"os-extend":{"new_size":4}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"extending"}}
			GET volume /volumes/v1
			= {"volume":{"id":"v1","status":"available"}}`},
	})
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	test(t, []koctest.Case{
		{Line: "volume attachment complete a1", API: `POST volume /attachments/a1/action {"os-complete":null}`},
		{Line: "volume attachment complete a1", Compat: true, Err: "volume attachment complete requires volume API microversion 3.44 or later"},
		{Line: "volume attachment create data web1 -f value -c Status", API: `
			POST volume /attachments {"attachment":{"volume_uuid":"v1","connector":{},"instance_uuid":"s1"}}
			= {"attachment":{"id":"n","status":"reserved"}}`, Out: "reserved"},
		{
			Line: "volume attachment create data web1 --no-connect --connect --initiator iqn --ip 10.0.0.1 --host h --platform x86_64 --os-type linux2 --no-multipath --multipath --mountpoint /dev/vdx --mode ro",
			API: `POST volume /attachments {"attachment":{"volume_uuid":"v1","instance_uuid":"s1","mode":"ro",
				"connector":{"initiator":"iqn","ip":"10.0.0.1","host":"h","platform":"x86_64","os_type":"linux2","multipath":true,"mountpoint":"/dev/vdx"}}}`,
		},
		{Line: "volume attachment create data web1 --mode null", API: `POST volume /attachments {"attachment":{"volume_uuid":"v1","connector":{},"instance_uuid":"s1"}}`},
		{Line: "volume attachment create data web1 --multipath", Err: "--multipath needs --connect"},
		{Line: "volume attachment create data nope", Err: `no server has the name or id "nope"`},
		{Line: "volume attachment create data web1", Compat: true, Err: "requires volume API microversion 3.27"},
		{Line: "volume attachment delete a1", API: "DELETE volume /attachments/a1"},
		{Line: "volume attachment delete nope", Err: `no volume attachment has the name or id "nope"`},
		{Line: "volume attachment list -f value", Out: "a1\tv2\ts1\tattached"},
		{Line: "volume attachment list -f value --status reserved --volume-id v1 --project demo --limit 1 --marker m", API: `
			GET volume /attachments?attach_status=reserved&volume_id=v1&project_id=p9&all_tenants=1&limit=1&marker=m
			= {"attachments":[]}`},
		{Line: "volume attachment set a1 --host h", API: `
			PUT volume /attachments/a1 {"attachment":{"connector":{"host":"h","multipath":false}}}
			= {"attachment":{"id":"a1"}}`},
		{Line: "volume attachment show a1 -f value", Out: "a1\nv2\ns1\nattached\nrw\nt\n\nx='y'"},
	})
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	test(t, []koctest.Case{
		{Line: "volume snapshot create --volume data s --description d --property a=b --force -f value", API: `
			POST volume /snapshots {"snapshot":{"volume_id":"v1","name":"s","description":"d","metadata":{"a":"b"},"force":true}}
			= {"snapshot":{"id":"n","metadata":{"a":"b"}}}`, Out: "n\na='b'"},
		{Line: "volume snapshot create data", API: `POST volume /snapshots {"snapshot":{"volume_id":"v1","name":"data"}}`},
		{Line: "volume snapshot create s --volume data --remote-source source-name=x --force", API: `POST volume /os-snapshot-manage {"snapshot":{"volume_id":"v1","name":"s","ref":{"source-name":"x"}}}`},
		{Line: "volume snapshot create nope", Err: `no volume has the name or id "nope"`},
		{Line: "volume snapshot create data --wait -f value -c status", API: `
			POST volume /snapshots *
			GET volume /snapshots/new
			= {"snapshot":{"status":"available"}}
			GET volume /snapshots/new
			= {"snapshot":{"status":"available"}}`, Out: "available"},
		{Line: "volume snapshot delete snap", API: "DELETE volume /snapshots/sn1"},
		{Line: "volume snapshot delete snap --force", API: `POST volume /snapshots/sn1/action {"os-force_delete":null}`},
		{Line: "volume snapshot delete snap --remote", API: `POST volume /snapshots/sn1/action {"os-unmanage":null}`},
		{Line: "volume snapshot list -f value", Out: "sn1\tsnap\t\tavailable\t3"},
		{Line: "volume snapshot list --long -f value -c Volume -c Properties -c 'Created At'", Out: "data\tk='v'\t2026-01-02T03:04:05.000000"},
		{Line: "volume snapshot list --long -f json -c Volume", Compat: true, Out: "[\n  {\n    \"Volume\": \"v1\"\n  }\n]"},
		{Line: "volume snapshot list -f value --name n --status error --volume data --project demo --limit 2 --marker m", API: `
			GET volume /snapshots/detail?name=n&status=error&volume_id=v1&project_id=p9&all_tenants=1&limit=2&marker=m
			= {"snapshots":[]}`},
		{Line: "volume snapshot set snap --no-property --property x=y --state error --name n --description d", API: `
			PUT volume /snapshots/sn1/metadata {"metadata":{"x":"y"}}
			POST volume /snapshots/sn1/action {"os-reset_status":{"status":"error"}}
			PUT volume /snapshots/sn1 {"snapshot":{"name":"n","description":"d"}}`},
		{Line: "volume snapshot set snap --property x=y", API: `POST volume /snapshots/sn1/metadata {"metadata":{"x":"y"}}`},
		{Line: "volume snapshot show snap -f value -c properties", Out: "k='v'"},
		{Line: "volume snapshot unset snap --property k", API: "DELETE volume /snapshots/sn1/metadata/k"},
		{Line: "volume snapshot unset snap --property z", Err: `has no property "z"`},
	})
}

func TestBackups(t *testing.T) {
	t.Parallel()
	test(t, []koctest.Case{
		{
			Line: "volume backup create data --name n --description d --container c --snapshot snap --force --incremental --property a=b --availability-zone z -f value",
			API: `
				POST volume /backups {"backup":{"volume_id":"v1","name":"n","description":"d","container":"c","snapshot_id":"sn1","force":true,"incremental":true,"metadata":{"a":"b"},"availability_zone":"z"}}
				= {"backup":{"id":"x","links":[]}}`, Out: "x",
		},
		{Line: "volume backup create data --no-incremental", API: `POST volume /backups {"backup":{"volume_id":"v1"}}`},
		{Line: "volume backup create data --property a=b", Compat: true, Err: "--property requires volume API microversion 3.43"},
		{Line: "volume backup create data --availability-zone b", Compat: true, Err: "--availability-zone requires volume API microversion 3.51"},
		{Line: "volume backup create data --wait", API: `
			POST volume /backups *
			GET volume /backups/new
			= {"backup":{"status":"error","fail_reason":"disk full"}}`, Err: `backup "new" went into the state error: disk full`},
		{Line: "volume backup delete bk", API: "DELETE volume /backups/b1"},
		{Line: "volume backup delete bk --force", API: `POST volume /backups/b1/action {"os-force_delete":null}`},
		{Line: "volume backup list -f value", Out: "b1\tbk\t\tavailable\t1"},
		{Line: "volume backup list --long -f value -c 'Availability Zone' -c Volume -c Container", Out: "nova\tdata\tc"},
		{Line: "volume backup list -f value --name n --status error --volume data --limit 1 --marker bk --all-projects", API: `
			GET volume /backups/detail?name=n&status=error&volume_id=v1&limit=1&marker=b1&all_tenants=1
			= {"backups":[]}`},
		{Line: "volume backup list --volume nope", Err: `no volume has the name or id "nope"`},
		{Line: "volume backup list --volume nope", Compat: true, API: "GET volume /backups/detail?volume_id=nope\n= {\"backups\":[]}"},
		{Line: "volume backup list -f value --volume 11111111-0000-0000-0000-000000000001", API: "GET volume /backups/detail?volume_id=11111111-0000-0000-0000-000000000001\n= {\"backups\":[]}"},
		{Line: "volume backup record export bk", API: "GET volume /backups/b1/export_record\n= {\"backup-record\":{\"backup_url\":\"u\",\"backup_service\":\"s\"}}", Out: `
+----------------+-------+
| Field          | Value |
+----------------+-------+
| Backup Service | s     |
| Metadata       | u     |
+----------------+-------+`},
		{Line: "volume backup record export bk -f json", API: "GET volume /backups/b1/export_record\n= {\"backup-record\":{\"backup_url\":\"u\",\"backup_service\":\"s\"}}", Out: "{\n  \"backup_service\": \"s\",\n  \"backup_url\": \"u\"\n}"},
		{Line: "volume backup record import s u -f value", API: `
			POST volume /backups/import_record {"backup-record":{"backup_service":"s","backup_url":"u"}}
			= {"backup":{"id":"x","name":null,"links":[]}}`, Out: "x"},
		{Line: "volume backup restore bk -f value", API: `
			POST volume /backups/b1/restore {"restore":{}}
			= {"restore":{"backup_id":"b1","volume_id":"v9","volume_name":"r"}}`, Out: "b1\nv9\nr"},
		{Line: "volume backup restore bk other", API: "POST volume /backups/b1/restore {\"restore\":{\"name\":\"other\"}}\n= {\"restore\":{}}"},
		{Line: "volume backup restore bk data", Err: `volume "data" exists: give --force`},
		{Line: "volume backup restore bk --volume data --force", API: "POST volume /backups/b1/restore {\"restore\":{\"volume_id\":\"v1\"}}\n= {\"restore\":{}}"},
		{Line: "volume backup restore bk data --volume data", Err: "given twice"},
		{Line: "volume backup restore bk 11111111-0000-0000-0000-000000000001", Err: "no volume has"},
		{Line: "volume backup restore bk --wait", API: `
			POST volume /backups/b1/restore {"restore":{}}
			= {"restore":{"backup_id":"b1","volume_id":"v9"}}
			GET volume /volumes/v9
			= {"volume":{"status":"restoring-backup"}}
			GET volume /volumes/v9
			= {"volume":{"status":"available"}}`},
		{Line: "volume backup restore bk --wait", API: `
			POST volume /backups/b1/restore {"restore":{}}
			= {"restore":{"backup_id":"b1","volume_id":"v9"}}
			GET volume /volumes/v9
			= {"volume":{"status":"error_restoring"}}`, Err: "state error_restoring"},
		{Line: "volume backup set bk --name n --description d --state error --property x=y", API: `
			POST volume /backups/b1/action {"os-reset_status":{"status":"error"}}
			PUT volume /backups/b1 {"backup":{"name":"n","description":"d","metadata":{"k":"v","x":"y"}}}`},
		{Line: "volume backup set bk --no-property --property x=y", API: `PUT volume /backups/b1 {"backup":{"metadata":{"x":"y"}}}`},
		{Line: "volume backup set bk --name n", Compat: true, Err: "--name requires volume API microversion 3.9"},
		{Line: "volume backup set bk --no-property", Compat: true, Err: "--no-property requires volume API microversion 3.43"},
		{Line: "volume backup set bk --state available", Compat: true, API: `POST volume /backups/b1/action {"os-reset_status":{"status":"available"}}`},
		{Line: "volume backup show bk -f value -c id", Out: "b1"},
		{Line: "volume backup unset bk --property k", API: `PUT volume /backups/b1 {"backup":{"metadata":{}}}`},
		{Line: "volume backup unset bk --property z", Err: `has no property "z"`},
		{Line: "volume backup unset bk", Out: "-"},
	})
}

func TestGroups(t *testing.T) {
	t.Parallel()
	test(t, []koctest.Case{
		{Line: "volume group create gtype fast hidden --name n --description d --availability-zone z -f value -c ID", API: `
			POST volume /groups {"group":{"name":"n","description":"d","group_type":"gt1","volume_types":["t1","t2"],"availability_zone":"z"}}
			GET volume /groups/new
			= {"group":{"id":"new"}}`, Out: "new"},
		{Line: "volume group create --volume-group-type gtype --volume-type fast --wait", API: `
			POST volume /groups {"group":{"group_type":"gt1","volume_types":["t1"]}}
			GET volume /groups/new
			= {"group":{"id":"new","status":"creating"}}
			GET volume /groups/new
			= {"group":{"id":"new","status":"available"}}
			GET volume /groups/new
			= {"group":{"id":"new","status":"available"}}`},
		{Line: "volume group create --source-group grp --name n", API: `
			POST volume /groups/action {"create-from-src":{"name":"n","source_group_id":"g1"}}
			= {"group":{"id":"new"}}
			GET volume /groups/new
			= {"group":{"id":"new"}}`},
		{Line: "volume group create --group-snapshot gsnap", API: `
			POST volume /groups/action {"create-from-src":{"group_snapshot_id":"gs1"}}
			= {"group":{"id":"new"}}
			GET volume /groups/new
			= {"group":{"id":"new"}}`},
		{Line: "volume group create gtype fast --source-group grp", Err: "give none"},
		{Line: "volume group create gtype", Err: "give the type of the volume group and the types of its volumes"},
		{Line: "volume group create gtype fast", Compat: true, Err: "volume group create requires volume API microversion 3.13"},
		{Line: "volume group delete grp", API: `POST volume /groups/g1/action {"delete":{"delete-volumes":false}}`},
		{Line: "volume group delete grp --force --wait", API: `
			POST volume /groups/g1/action {"delete":{"delete-volumes":true}}
			GET volume /groups/g1
			= 404 {}`},
		{Line: "volume group failover grp --disallow-attached-volume --allow-attached-volume --secondary-backend-id b", API: `
			POST volume /groups/g1/action {"failover_replication":{"allow_attached_volume":true,"secondary_backend_id":"b"}}`},
		{Line: "volume group list -f value", Out: "g1\tavailable\tgrp"},
		{Line: "volume group list --all-projects -f value", API: "GET volume /groups/detail?all_tenants=1\n= {\"groups\":[]}"},
		{Line: "volume group set grp --name n --description d --enable-replication -f value -c Name", API: `
			POST volume /groups/g1/action {"enable_replication":{}}
			PUT volume /groups/g1 {"group":{"name":"n","description":"d"}}`, Out: "grp"},
		{Line: "volume group set grp --disable-replication", API: `POST volume /groups/g1/action {"disable_replication":{}}`},
		{Line: "volume group show grp -f value -c 'Volume Types' -c Volumes", Out: "t1"},
		{Line: "volume group show grp --volumes -f value -c Volumes", API: "GET volume /groups/g1?list_volume=True\n= {\"group\":{\"id\":\"g1\",\"volumes\":[\"v1\"]}}", Out: "v1"},
		{Line: "volume group show grp --replication-targets -f value -c 'Replication Targets'", API: `
			POST volume /groups/g1/action {"list_replication_targets":{}}
			= {"replication_targets":["x"]}`, Out: "x"},

		{Line: "volume group snapshot create grp --name n --description d -f value -c ID", API: `
			POST volume /group_snapshots {"group_snapshot":{"group_id":"g1","name":"n","description":"d"}}
			GET volume /group_snapshots/new
			= {"group_snapshot":{"id":"new"}}`, Out: "new"},
		{Line: "volume group snapshot create nope", Err: `no volume group has the name or id "nope"`},
		{Line: "volume group snapshot delete gsnap", API: "DELETE volume /group_snapshots/gs1"},
		{Line: "volume group snapshot list -f value", Out: "gs1\tavailable\tgsnap"},
		{Line: "volume group snapshot show gsnap -f value", Out: "gs1\navailable\ngsnap\n\ng1"},

		{Line: "volume group type create n --description d --private --property a=b -f value -c ID", API: `
			POST volume /group_types {"group_type":{"name":"n","description":"d","is_public":false}}
			POST volume /group_types/new/group_specs {"group_specs":{"a":"b"}}
			GET volume /group_types/new
			= {"group_type":{"id":"new"}}`, Out: "new"},
		{Line: "volume group type delete gtype", API: "DELETE volume /group_types/gt1"},
		{Line: "volume group type list -f value", Out: "gt1\tgtype\tNone\tk='v', l='w'"},
		{Line: "volume group type list --default -f value -c ID", API: "GET volume /group_types/default\n= {\"group_type\":{\"id\":\"d\"}}", Out: "d"},
		{Line: "volume group type set gtype --name n --public --no-property --property l=x --property m=y", API: `
			PUT volume /group_types/gt1 {"group_type":{"name":"n","is_public":true}}
			DELETE volume /group_types/gt1/group_specs/k
			POST volume /group_types/gt1/group_specs {"group_specs":{"l":"x","m":"y"}}`},
		{Line: "volume group type show gtype -f value", Out: "gt1\ngtype\nd\nNone\nk='v', l='w'"},
		{Line: "volume group type unset gtype --property k", API: "DELETE volume /group_types/gt1/group_specs/k"},
		{Line: "volume group type unset gtype --property z", Err: `has no property "z"`},
	})
}

func TestConsistencyGroups(t *testing.T) {
	t.Parallel()
	test(t, []koctest.Case{
		{Line: "consistency group add volume cg data used", API: `PUT volume /consistencygroups/cg1 {"consistencygroup":{"add_volumes":"v1,v2"}}`},
		{Line: "consistency group add volume cg data nope", Err: `no volume has the name or id "nope"`},
		{Line: "consistency group remove volume cg data", API: `PUT volume /consistencygroups/cg1 {"consistencygroup":{"remove_volumes":"v1"}}`},
		{Line: "consistency group create n --volume-type fast --description d --availability-zone z -f value -c id", API: `
			POST volume /consistencygroups {"consistencygroup":{"name":"n","volume_types":"t1","description":"d","availability_zone":"z"}}`, Out: "new"},
		{Line: "consistency group create --consistency-group-source cg --availability-zone z", API: `
			POST volume /consistencygroups/create_from_src {"consistencygroup-from-src":{"source_cgid":"cg1"}}
			= {"consistencygroup":{"id":"new"}}`},
		{Line: "consistency group create --consistency-group-snapshot cgsnap --wait", API: `
			POST volume /consistencygroups/create_from_src {"consistencygroup-from-src":{"cgsnapshot_id":"cs1"}}
			= {"consistencygroup":{"id":"new"}}
			GET volume /consistencygroups/new
			= {"consistencygroup":{"id":"new","status":"error"}}`, Err: "state error"},
		{Line: "consistency group create n", Err: "--volume-type"},
		{Line: "consistency group delete cg --force", API: `POST volume /consistencygroups/cg1/delete {"consistencygroup":{"force":true}}`},
		{Line: "consistency group list --long -f value", Out: "cg1\tavailable\tnova\tcg\t\tt1, t2"},
		{Line: "consistency group list --all-projects -f value", API: "GET volume /consistencygroups/detail?all_tenants=1\n= {\"consistencygroups\":[]}"},
		{Line: "consistency group set cg --name n --description d", API: `PUT volume /consistencygroups/cg1 {"consistencygroup":{"name":"n","description":"d"}}`},
		{Line: "consistency group show cg -f value -c name", Out: "cg"},
		{Line: "consistency group snapshot create n --consistency-group cg --description d", API: `POST volume /cgsnapshots {"cgsnapshot":{"consistencygroup_id":"cg1","name":"n","description":"d"}}`},
		{Line: "consistency group snapshot create cg", API: `POST volume /cgsnapshots {"cgsnapshot":{"consistencygroup_id":"cg1","name":"cg"}}`},
		{Line: "consistency group snapshot create", Err: "--consistency-group"},
		{Line: "consistency group snapshot delete cgsnap", API: "DELETE volume /cgsnapshots/cs1"},
		{Line: "consistency group snapshot list -f value --status error --consistency-group cg --all-projects", API: `
			GET volume /cgsnapshots/detail?status=error&consistencygroup_id=cg1&all_tenants=1
			= {"cgsnapshots":[]}`},
		{Line: "consistency group snapshot list --long -f value", Out: "cs1\tavailable\tcg1\tcgsnap\t\t"},
		{Line: "consistency group snapshot show cgsnap -f value -c id", Out: "cs1"},
	})
}

func TestTypes(t *testing.T) {
	t.Parallel()
	const plain = "GET volume /types/t1/encryption\n= {}\n"
	const luks = `GET volume /types/t1/encryption
		= {"volume_type_id":"t1","provider":"luks","key_size":256,"deleted":false,"created_at":"x"}
		`
	test(t, []koctest.Case{
		{Line: "volume type create n --description d --public -f value", API: `
			POST volume /types {"volume_type":{"name":"n","description":"d","os-volume-type-access:is_public":true}}
			= {"volume_type":{"id":"new","name":"n","extra_specs":{},"os-volume-type-access:is_public":true}}`, Out: "new\nn"},
		{
			Line: "volume type create n --private --project demo --property a=b --multiattach --cacheable --replicated --availability-zone x --availability-zone y --encryption-provider luks --encryption-cipher c --encryption-key-size 256 -f value -c properties -c encryption",
			API: `
				POST volume /types {"volume_type":{"name":"n","os-volume-type-access:is_public":false}}
				POST volume /types/new/action {"addProjectAccess":{"project":"p9"}}
				POST volume /types/new/extra_specs {"extra_specs":{"a":"b","multiattach":"<is> True","cacheable":"<is> True","replication_enabled":"<is> True","RESKEY:availability_zones":"x,y"}}
				POST volume /types/new/encryption {"encryption":{"provider":"luks","cipher":"c","key_size":256,"control_location":"front-end"}}
				= {"encryption":{"volume_type_id":"new","provider":"luks"}}`,
			Out: "provider='luks'\nRESKEY:availability_zones='x,y', a='b', cacheable='<is> True', multiattach='<is> True', replication_enabled='<is> True'",
		},
		{Line: "volume type create n --project demo", Err: "--project needs --private"},
		{Line: "volume type create n --encryption-cipher c", Err: "--encryption-provider is missing"},
		{Line: "volume type create n --property a=b", API: "POST volume /types *\nPOST volume /types/new/extra_specs *\n= 500 {}", Err: "set the properties"},
		{Line: "volume type delete fast", API: "DELETE volume /types/t1"},
		{Line: "volume type list -f value", Out: "t1\tfast\ttrue\nt2\thidden\tfalse"},
		{Line: "volume type list --long -f value --private", API: "GET volume /types?is_public=False\n= {\"volume_types\":[{\"id\":\"x\",\"extra_specs\":{\"a\":\"b\"}}]}", Out: "x\t\tN/A\t\ta='b'"},
		{Line: "volume type list --public -f value", API: "GET volume /types?is_public=True\n= {\"volume_types\":[]}"},
		{Line: "volume type list --default -f value", API: "GET volume /types/default\n= {\"volume_type\":{\"id\":\"d\",\"is_public\":true}}", Out: "d\t\ttrue"},
		{Line: "volume type list --property a=b --multiattach -f value", API: "GET volume /types?is_public=None&extra_specs=%7B%27multiattach%27:+%27%3Cis%3E+True%27,+%27a%27:+%27b%27%7D\n= {\"volume_types\":[]}"},
		{Line: "volume type list --property a=b", Compat: true, Err: "requires volume API microversion 3.52"},
		{Line: "volume type list --encryption-type -f value -c Name -c Encryption", API: luks + "GET volume /types/t2/encryption\n= {}", Out: "fast\tkey_size='256', provider='luks'\nhidden\t-"},
		{Line: "volume type list --encryption-type -f value -c Name", Out: "fast\nhidden"},
		{Line: "volume type list --encryption-type", API: "GET volume /types?is_public=None\n= {\"volume_types\":[{\"id\":\"t1\"}]}\nGET volume /types/t1/encryption\n= 500 {}", Err: "500"},
		{Line: "volume type set fast --name n --description d --property x=y --project demo --replicated", API: `
			PUT volume /types/t1 {"volume_type":{"name":"n","description":"d"}}
			POST volume /types/t1/extra_specs {"extra_specs":{"replication_enabled":"<is> True","x":"y"}}
			POST volume /types/t1/action {"addProjectAccess":{"project":"p9"}}`},
		{Line: "volume type set fast --encryption-key-size 512", API: luks + `PUT volume /types/t1/encryption/provider {"encryption":{"key_size":512}}`},
		{Line: "volume type set fast --encryption-provider luks --encryption-control-location back-end", API: plain + `
			POST volume /types/t1/encryption {"encryption":{"provider":"luks","control_location":"back-end"}}`},
		{Line: "volume type set fast --encryption-cipher c --name n", API: plain, Err: "--encryption-provider is missing"},
		{Line: "volume type show fast -f value -c properties -c access_project_ids", Out: "k='v'"},
		{Line: "volume type show hidden -f value -c access_project_ids", API: "GET volume /types/t2/os-volume-type-access\n= {\"volume_type_access\":[{\"project_id\":\"q\"},{\"project_id\":\"p\"}]}", Out: "p, q"},
		{Line: "volume type show fast --encryption-type -f value -c encryption", API: luks, Out: "created_at='x', deleted='False', key_size='256', provider='luks'"},
		{Line: "volume type unset fast --property k --project demo --encryption-type", API: `
			DELETE volume /types/t1/extra_specs/k
			POST volume /types/t1/action {"removeProjectAccess":{"project":"p9"}}
			DELETE volume /types/t1/encryption/provider`},
		{Line: "volume type unset fast --property z --encryption-type", Err: `has no property "z"`},
	})
}

func TestQoS(t *testing.T) {
	t.Parallel()
	const some = "GET volume /qos-specs/q1/associations\n= {\"qos_associations\":[{\"id\":\"t1\",\"name\":\"fast\"}]}\n"
	test(t, []koctest.Case{
		{Line: "volume qos associate gold fast", API: "GET volume /qos-specs/q1/associate?vol_type_id=t1"},
		{Line: "volume qos create n --property a=b -f value -c properties -c consumer", API: `
			POST volume /qos-specs {"qos_specs":{"name":"n","consumer":"both","a":"b"}}
			= {"qos_specs":{"id":"x","consumer":"both","specs":{"a":"b"}}}`, Out: "both\na='b'"},
		{Line: "volume qos delete gold", API: "DELETE volume /qos-specs/q1"},
		{Line: "volume qos delete gold --force", API: "DELETE volume /qos-specs/q1?force=True"},
		{Line: "volume qos disassociate gold --volume-type fast", API: "GET volume /qos-specs/q1/disassociate?vol_type_id=t1"},
		{Line: "volume qos disassociate gold --all", API: "GET volume /qos-specs/q1/disassociate_all"},
		{Line: "volume qos disassociate gold", Out: "-"},
		{Line: "volume qos list -f value", API: some + "GET volume /qos-specs/q2/associations\n= 404 {}", Out: "q1\tgold\tboth\tfast\tk='v', l='w'\nq2\tlead\tfront-end\t\t"},
		{Line: "volume qos list -f value -c Name", Out: "gold\nlead"},
		{Line: "volume qos list -f value -c Name --limit 1 --marker q0", API: "GET volume /qos-specs?limit=1&marker=q0\n= {\"qos_specs\":[]}"},
		{Line: "volume qos set gold --property a=b", API: `PUT volume /qos-specs/q1 {"qos_specs":{"a":"b"}}`},
		{Line: "volume qos set gold --no-property --property l=x", API: `
			PUT volume /qos-specs/q1/delete_keys {"keys":["k"]}
			PUT volume /qos-specs/q1 {"qos_specs":{"l":"x"}}`},
		{Line: "volume qos show gold -f value -c associations -c properties", API: some, Out: "fast\nk='v', l='w'"},
		{Line: "volume qos show nope", Err: `no qos specification has the name or id "nope"`},
		{Line: "volume qos unset gold --property k --property l", API: `PUT volume /qos-specs/q1/delete_keys {"keys":["k","l"]}`},
		{Line: "volume qos unset gold --property z", Err: `has no property "z"`},
	})
}

func TestTransfers(t *testing.T) {
	t.Parallel()
	test(t, []koctest.Case{
		{Line: "volume transfer request accept offer --auth-key k -f value", API: `
			POST volume /volume-transfers/tr1/accept {"accept":{"auth_key":"k"}}
			= {"transfer":{"id":"tr1","links":[]}}`, Out: "tr1"},
		{Line: "volume transfer request accept of-another --auth-key k", API: `
			POST volume /volume-transfers/of-another/accept {"accept":{"auth_key":"k"}}
			= {"transfer":{}}`},
		{Line: "volume transfer request accept offer", Err: "--auth-key"},
		{Line: "volume transfer request create data --name n --snapshots --no-snapshots", API: `POST volume /volume-transfers {"transfer":{"volume_id":"v1","name":"n","no_snapshots":true}}`},
		{Line: "volume transfer request create data", Compat: true, API: `POST volume /os-volume-transfer {"transfer":{"volume_id":"v1","name":null}}`},
		{Line: "volume transfer request create data --no-snapshots", Compat: true, Err: "--no-snapshots requires volume API microversion 3.55"},
		{Line: "volume transfer request delete offer", API: "DELETE volume /volume-transfers/tr1"},
		{Line: "volume transfer request list -f value", Out: "tr1\toffer\tv1"},
		{Line: "volume transfer request list -f value", Compat: true, Out: "tr0 old offer v1"},
		{Line: "volume transfer request list --all-projects --limit 1 -f value", API: "GET volume /volume-transfers/detail?all_tenants=1&limit=1\n= {\"transfers\":[]}"},
		{Line: "volume transfer request show offer -f value -c volume_id", Out: "v1"},
	})
}

func TestOperators(t *testing.T) {
	t.Parallel()
	test(t, []koctest.Case{
		{Line: "block storage cleanup --cluster c --host h --binary b --down --enabled --resource-id r --resource-type Volume --service-id 3 -f value", API: `
			POST volume /workers/cleanup {"cluster_name":"c","host":"h","binary":"b","is_up":false,"disabled":false,"resource_id":"r","resource_type":"Volume","service_id":3}
			= {"cleaning":[{"id":1,"host":"h","binary":"b","cluster_name":null}],"unavailable":[{"id":2,"host":"i","binary":"b","cluster_name":"c"}]}`, Out: "1\t\th\tb\tCleaning\n2\tc\ti\tb\tUnavailable"},
		{Line: "block storage cleanup -f value", API: "POST volume /workers/cleanup {}\n= {\"cleaning\":[],\"unavailable\":[]}", Out: "-"},
		{Line: "block storage cluster list -f value --cluster c --binary b --down --disabled --num-hosts 2 --num-down-hosts 1", API: `
			GET volume /clusters?name=c&binary=b&is_up=False&disabled=True&num_hosts=2&num_down_hosts=1
			= {"clusters":[{"name":"c","binary":"b","state":"up","status":"enabled"}]}`, Out: "c\tb\tup\tenabled"},
		{Line: "block storage cluster list --long -f value -c 'Num Hosts' --up --enabled", API: "GET volume /clusters/detail?is_up=True&disabled=False\n= {\"clusters\":[{\"num_hosts\":3}]}", Out: "3"},
		{Line: "block storage cluster list", Compat: true, Err: "block storage cluster list requires volume API microversion 3.7 or later"},
		{Line: "block storage cluster set c --disable --disable-reason r", API: `PUT volume /clusters/disable {"name":"c","binary":"cinder-volume","disabled_reason":"r"}`},
		{Line: "block storage cluster set c --enable --binary b", API: `PUT volume /clusters/enable {"name":"c","binary":"b"}`},
		{Line: "block storage cluster set c", Err: "give --enable or --disable"},
		{Line: "block storage cluster set c --enable --disable-reason r", Err: "--disable-reason needs --disable"},
		{Line: "block storage cluster show c@b --binary x -f value -c Hosts", API: "GET volume /clusters/c@b?binary=x\n= {\"cluster\":{\"num_hosts\":3}}", Out: "3"},
		{Line: "block storage log level list --host h --service cinder-api --log-prefix p -f value", API: `
			PUT volume /os-services/get-log {"binary":"cinder-api","server":"h","prefix":"p"}
			= {"log_levels":[{"binary":"cinder-api","host":"h","levels":{"p.b":"INFO","p.a":"DEBUG"}}]}`, Out: "cinder-api\th\tp.a\tDEBUG\ncinder-api\th\tp.b\tINFO"},
		{Line: "block storage log level set debug --service *", API: `PUT volume /os-services/set-log {"binary":"*","server":"","prefix":"","level":"DEBUG"}`},
		{Line: "block storage log level set loud", Err: "loud"},
		{Line: "block storage resource filter list -f value", API: "GET volume /resource_filters\n= {\"resource_filters\":[{\"resource\":\"volume\",\"filters\":[\"status\",\"name\"]}]}", Out: "volume\tname, status"},
		{Line: "block storage resource filter show volume -f value", API: "GET volume /resource_filters?resource=volume\n= {\"resource_filters\":[{\"resource\":\"volume\",\"filters\":[\"b\",\"a\"]}]}", Out: "a, b\nvolume"},
		{Line: "block storage resource filter show x", API: "GET volume /resource_filters?resource=x\n= {\"resource_filters\":[]}", Err: `no resource filter has the name or id "x"`},
		{Line: "block storage volume manageable list h@b#p --sort size:desc --offset 2 --limit 1 -f value", API: `
			GET volume /manageable_volumes?host=h@b%23p&sort=size:desc&offset=2&limit=1
			= {"manageable-volumes":[{"reference":{"source-name":"lv"},"size":1,"safe_to_manage":true}]}`, Out: "source-name='lv'\t1\ttrue"},
		{Line: "block storage snapshot manageable list --cluster c --long -f value", API: `
			GET volume /manageable_snapshots/detail?cluster=c
			= {"manageable-snapshots":[]}`},
		{Line: "block storage volume manageable list h --detailed true -f value", API: "GET volume /manageable_volumes/detail?host=h\n= {\"manageable-volumes\":[]}"},
		{Line: "block storage volume manageable list", Err: "give a host or --cluster"},
		{Line: "volume backend capability show h@b -f value", API: `
			GET volume /capabilities/h@b
			= {"properties":{"thin":{"title":"T","description":"d","type":"boolean"},"qos":{"title":"Q"}}}`, Out: "T\tthin\tboolean\td\nQ\tqos\t\t"},
		{Line: "volume backend pool list", API: `
			GET volume /scheduler-stats/get_pools?detail=True
			= {"pools":[{"name":"h@b#p","capabilities":{"storage_protocol":"ceph","total_capacity_gb":100,"free_capacity_gb":20.5}}]}`, Out: `
+-------+----------+----------+------+
| Name  | Protocol | Capacity | Free |
+-------+----------+----------+------+
| h@b#p | ceph     |      100 | 20.5 |
+-------+----------+----------+------+`},
		{
			Line: "volume backend pool list --long --name p -f csv", API: `
			GET volume /scheduler-stats/get_pools?detail=True&name=p
			= {"pools":[{"name":"p","capabilities":{"zeta":1,"alpha":"x","total_capacity_gb":100}},{"name":"q","capabilities":{"beta":null}}]}`,
			Out: "Name,Protocol,Thick,Thin,Volumes,Capacity,Allocated,Max Over Ratio,Free,alpha,beta,zeta\np,,,,,100,,,,x,,1\nq,,,,,,,,,,,",
		},
		{Line: "volume backend pool list -f value", Compat: true, API: "GET volume /scheduler-stats/get_pools\n= {\"pools\":[{\"name\":\"p\"}]}", Out: "p"},
		{Line: "volume host failover h --volume-backend b", API: `PUT volume /os-services/failover_host {"host":"h","backend_id":"b"}`},
		{Line: "volume host set h --disable", API: `PUT volume /os-services/freeze {"host":"h"}`},
		{Line: "volume host set h --enable", API: `PUT volume /os-services/thaw {"host":"h"}`},
		{Line: "volume host set h", Out: "-"},
		{Line: "volume message delete m1", API: "DELETE volume /messages/m1"},
		{Line: "volume message list -f value -c ID -c 'User Message'", Out: "m1\tno room"},
		{Line: "volume message list -f value --project demo --resource r --resource-type VOLUME --limit 1 --marker m", API: `
			GET volume /messages?project_id=p9&resource_uuid=r&resource_type=VOLUME&limit=1&marker=m
			= {"messages":[]}`},
		{Line: "volume message list", Compat: true, Err: "volume message list requires volume API microversion 3.3"},
		{Line: "volume message show m1 -f value -c user_message", Out: "no room"},
		{Line: "volume service list --host h --service cinder-volume -f value", API: `
			GET volume /os-services?host=h&binary=cinder-volume
			= {"services":[{"binary":"b","host":"h","zone":"z","status":"enabled","state":"up","updated_at":"t"}]}`, Out: "b\th\tz\tenabled\tup\tt"},
		{Line: "volume service list --long -f value -c 'Disabled Reason' -c Cluster", API: "GET volume /os-services\n= {\"services\":[{\"disabled_reason\":\"r\",\"cluster\":\"c\"}]}", Out: "r\tc"},
		{Line: "volume service set h b --enable", API: `PUT volume /os-services/enable {"host":"h","binary":"b"}`},
		{Line: "volume service set h b --disable", API: `PUT volume /os-services/disable {"host":"h","binary":"b"}`},
		{Line: "volume service set h b --disable --disable-reason r", API: `PUT volume /os-services/disable-log-reason {"host":"h","binary":"b","disabled_reason":"r"}`},
		{Line: "volume service set h b --enable --disable-reason r", Err: "--disable-reason needs --disable"},
		{Line: "volume service set h b --disable-reason r", Compat: true, Err: "--disable-reason needs --disable"},
		{Line: "volume service set h b", Out: "-"},
	})
}
