package image_test

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc/image"
	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
)

const (
	img  = "11111111-0000-0000-0000-000000000001"
	img2 = "11111111-0000-0000-0000-000000000002"
	demo = "22222222-0000-0000-0000-000000000001"
	vol  = "33333333-0000-0000-0000-000000000001"
)

const data = "the data of an image\n"

func have() []koctest.Stock {
	sum := md5.Sum([]byte(data))
	return []koctest.Stock{
		{Service: "image", Path: "/images", Keys: "images", Items: `[
			{"id":"` + img + `","name":"Debian 12","status":"active","visibility":"public","tags":["b","a"],"os_distro":"debian","protected":false,"size":21,"checksum":"` + hex.EncodeToString(sum[:]) + `","owner":null,"self":"/v2/images/x"},
			{"id":"` + img2 + `","name":"alpine","status":"queued","visibility":"private","tags":[],"os_distro":"alpine","checksum":"00"}]`},
		{Service: "image", Path: "/tasks", Keys: "tasks", Items: `[{"id":"t1","type":"import","status":"success","owner":"o","input":{"a":1}}]`},
		{Service: "image", Path: "/metadefs/namespaces", Keys: "namespaces", Items: `[{"namespace":"ns","id":"ns","display_name":"N","visibility":"public","protected":true,"owner":"o"}]`},
		{Service: "image", Path: "/metadefs/resource_types", Keys: "resource_types", Items: `[{"name":"OS::Nova::Flavor"}]`},
		{Service: "identity", Path: "/projects", Keys: "projects", Key: "project", Items: `[{"id":"` + demo + `","name":"demo"}]`},
		{Service: "volume", Path: "/volumes", Keys: "volumes", Key: "volume", Items: `[{"id":"` + vol + `","name":"disk"}]`},
	}
}

func TestCommandsSendWhatTheyShould(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "image.raw")
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	ns := "/metadefs/namespaces/ns"
	koctest.Test(t, image.Commands(), have(), []koctest.Case{
		{Line: "image list -f value -c Name", Out: "Debian 12\nalpine"},
		{Line: "image list --sort name:desc -f value -c Name", Out: "alpine\nDebian 12"},
		{Line: "image list --sort name:sideways", Err: "neither asc nor desc"},
		{Line: "image list --name-contains DEB -f value -c Name", Out: "Debian 12"},
		{Line: "image list --property os_distro=alpine -f value -c Name", Out: "alpine"},
		{Line: "image list --limit 1 --name-contains a -f value -c Name", Out: "Debian 12"},
		{Line: "image list --limit 1 --public --status active --tag x --tag y --hidden --project demo --member-status all --name in:a,b --marker alpine", API: "GET image /images?visibility=public&status=active&tag=x&tag=y&os_hidden=true&owner=" + demo + "&member_status=all&name=in:a,b&limit=1&marker=" + img2 + "\n= {\"images\":[]}"},
		{Line: "image list --name a --name-contains b", Err: "--name-contains"},
		{Line: "image list --long -f csv", Compat: true, Out: `"ID","Name","Disk Format","Container Format","Size","Checksum","Status","Visibility","Protected","Project","Tags"
"` + img + `","Debian 12","","",21,"` + sumOf() + `","active","public",False,"","['b', 'a']"
"` + img2 + `","alpine","","","","00","queued","private","","","[]"`},
		{Line: "image show alpine -f json", Out: `
			{
			  "checksum": "00",
			  "id": "` + img2 + `",
			  "name": "alpine",
			  "properties": "os_distro='alpine'",
			  "status": "queued",
			  "tags": "",
			  "visibility": "private"
			}`},
		{Line: "image show nope", Err: `no image has the name or id "nope"`},
		{Line: "image create new --file " + file + " --disk-format qcow2 --min-disk 2 --min-ram 0 --public --protected --tag t --property a=b --project demo", API: `
			POST image /images {"name":"new","container_format":"bare","disk_format":"qcow2","min_disk":2,"min_ram":0,"visibility":"public","protected":true,"tags":["t"],"owner":"` + demo + `","a":"b"}
			= {"id":"n1","name":"new"}
			PUT image /images/n1/file *
			= 204
			GET image /images/n1
			= {"id":"n1","name":"new","status":"active"}`, Out: `
			+--------+--------+
			| Field  | Value  |
			+--------+--------+
			| id     | n1     |
			| name   | new    |
			| status | active |
			| tags   |        |
			+--------+--------+`},
		{Line: "image create new --id x --visibility shared", API: `POST image /images {"name":"new","container_format":"bare","disk_format":"raw","id":"x","visibility":"shared"}` + "\n" + `= {"id":"x","name":"new","status":"queued"}`},
		{Line: "image create new --file /nonexistent", Err: "no such file"},
		{Line: "image create new --file " + filepath.Dir(file), Err: "is a directory"},
		{
			Line: "image create new --file " + file, API: "POST image /images {\"name\":\"new\",\"container_format\":\"bare\",\"disk_format\":\"raw\"}\n= {\"id\":\"n1\"}\nPUT image /images/n1/file *\n= 413 {\"message\":\"too big\"}",
			Err: "the image n1 was created, but not its data",
		},
		{ // interrupted while the data goes up
			Line: "image create new --file " + file, API: "POST image /images *\n= {\"id\":\"n1\"}\nPUT image /images/n1/file *\n^C\nDELETE image /images/n1",
			Err: "upload context canceled: the image n1, which had no data, was deleted",
		},
		{ // and while it is staged
			Line: "image create new --import --file " + file, API: "POST image /images *\n= {\"id\":\"n1\"}\nPUT image /images/n1/stage *\n^C\nDELETE image /images/n1\n= 404 {}",
			Err: "upload context canceled: the image n1, which had no data, was deleted",
		},
		{ // before the id is known
			Line: "image create new --file " + file, API: "POST image /images *\n^C\n= {\"id\":\"n1\"}\nDELETE image /images/n1",
			Err: "upload context canceled: the image n1, which had no data, was deleted",
		},
		{ // which it never is
			Line: "image create new --file " + file, API: "POST image /images *\n^C", Err: "context canceled",
		},
		{ // without anything to upload the image is as it should be
			Line: "image create new", API: "POST image /images *\n^C", Err: "context canceled",
		},
		{ // nor does it wait for ever for the end of the image
			Line: "image create new --file " + file, API: "POST image /images *\n= {\"id\":\"n1\"}\nPUT image /images/n1/file *\n^C\nDELETE image /images/n1\n^C",
			Err: "could not be deleted: ",
		},
		{
			Line: "image create new --protected --file " + file, API: "POST image /images *\n= {\"id\":\"n1\"}\nPUT image /images/n1/file *\n^C\nDELETE image /images/n1\n= 403 {\"message\":\"it is protected\"}",
			Err: "it is protected (403, request req-test); user admin has the roles admin in project admin: remove it with 'image set --unprotected n1' and 'image delete n1'",
		},
		{ // what is imported goes on
			Line: "image create new --import --file " + file, API: "POST image /images *\n= {\"id\":\"n1\"}\nPUT image /images/n1/stage *\n= 204\nPOST image /images/n1/import *\n^C",
			Err: "import of the image n1: ",
		},
		{Line: "image create new --location http://x", Err: "first image API"},
		{Line: "image create new --sign-key-path k --file " + file, Err: "go together"},
		{Line: "image create new --sign-key-path k --sign-cert-id c", Err: "needs --file"},
		{Line: "image create new --volume disk --force --public", API: `POST volume /volumes/` + vol + `/action {"os-volume_upload_image":{"force":true,"image_name":"new","container_format":"bare","disk_format":"raw","visibility":"public","protected":false}}` + "\n" +
			`= {"os-volume_upload_image":{"image_id":"i","volume_type":{"name":"fast"}}}`, Out: `
			+-------------+-------+
			| Field       | Value |
			+-------------+-------+
			| image_id    | i     |
			| volume_type | fast  |
			+-------------+-------+`},
		{Line: "image create new --import --file " + file, API: `POST image /images {"name":"new","container_format":"bare","disk_format":"raw"}` + "\n" + `= {"id":"n1"}
			PUT image /images/n1/stage *
			= 204
			POST image /images/n1/import {"method":{"name":"glance-direct"}}
			= 202
			GET image /images/n1
			= {"id":"n1","status":"importing"}`},
		{Line: "image set alpine --name x --min-disk 3 --tag t --property os/new=1 --os-distro a --unprotected --unhidden --community", API: `PATCH image /images/` + img2 + ` [
			{"op":"replace","path":"/name","value":"x"},{"op":"replace","path":"/os_distro","value":"a"},{"op":"add","path":"/min_disk","value":3},{"op":"add","path":"/protected","value":false},
			{"op":"add","path":"/os_hidden","value":false},{"op":"replace","path":"/visibility","value":"community"},{"op":"add","path":"/os~1new","value":"1"},{"op":"replace","path":"/tags","value":["t"]}]
			= {}
			H Content-Type: application/openstack-images-v2.1-json-patch`},
		{Line: "image set alpine --project demo", API: `PATCH image /images/` + img2 + ` [{"op":"replace","path":"/owner","value":"` + demo + `"}]` + "\n= {}"},
		{Line: "image set alpine --accept --project demo", API: `PUT image /images/` + img2 + `/members/` + demo + ` {"status":"accepted"}`},
		{Line: "image set alpine --deactivate", API: "POST image /images/" + img2 + "/actions/deactivate"},
		{Line: "image set alpine --activate --deactivate", Err: "--deactivate"},
		{Line: "image set alpine", Out: "-"},
		{Line: "image unset 'Debian 12' --tag a --property os_distro", API: "DELETE image /images/" + img + "/tags/a\nPATCH image /images/" + img + ` [{"op":"remove","path":"/os_distro"}]` + "\n= {}"},
		{Line: "image unset alpine --property nope --property os_distro", API: "PATCH image /images/" + img2 + ` [{"op":"remove","path":"/os_distro"}]` + "\n= {}", Err: "Failed to unset 1 of 2 properties."},
		{Line: "image delete alpine nope", API: "DELETE image /images/" + img2, Err: `delete image "nope"`},
		{Line: "image delete alpine --store ceph", API: "DELETE image /stores/ceph/" + img2},
		{Line: "image stage alpine --file " + file, API: "PUT image /images/" + img2 + "/stage *\n= 204"},
		{Line: "image import alpine --uri http://x/y --store a,b --disallow-failure", API: "POST image /images/" + img2 + `/import {"method":{"name":"web-download","uri":"http://x/y"},"stores":["a","b"],"all_stores_must_succeed":true}` + "\n= 202"},
		{Line: "image import alpine", Err: "needs one whose data was staged"},
		{Line: "image import alpine --method copy-image", Err: "needs --store or --all-stores"},
		{Line: "image import alpine --method web-download", Err: "go together"},
		{Line: "image import 'Debian 12' --method copy-image --all-stores --wait", API: "POST image /images/" + img + `/import {"method":{"name":"copy-image"},"all_stores":true}` + "\n= 202"},
		{Line: "image import info -f value", API: "GET image /info/import\n" + `= {"import-methods":{"value":["web-download","glance-direct"]}}`, Out: "glance-direct, web-download"},
		{Line: "image stores list --detail", API: "GET image /info/stores/detail\n" + `= {"stores":[{"id":"ceph","default":true,"properties":{"a":1}}]}`, Out: `
			+------+-------------+---------+-----------+------------+
			| ID   | Description | Default | Read Only | Properties |
			+------+-------------+---------+-----------+------------+
			| ceph |             | true    |           | a='1'      |
			+------+-------------+---------+-----------+------------+`},
		{Line: "image add project alpine demo", API: "POST image /images/" + img2 + `/members {"member":"` + demo + `"}`},
		{Line: "image remove project alpine " + demo, API: "DELETE image /images/" + img2 + "/members/" + demo},
		{Line: "image member list alpine -f value", API: "GET image /images/" + img2 + "/members\n" + `= {"members":[{"image_id":"i","member_id":"m","status":"pending"}]}`, Out: "i\tm\tpending"},
		{Line: "image member get alpine demo -f value -c status", API: "GET image /images/" + img2 + "/members/" + demo + "\n" + `= {"status":"pending"}`, Out: "pending"},
		{Line: "image member set alpine demo --reject", API: "PUT image /images/" + img2 + "/members/" + demo + ` {"status":"rejected"}`},
		{Line: "image task list --status success --type import --sort-key id --sort-dir asc", API: "GET image /tasks?status=success&type=import&sort_key=id&sort_dir=asc\n= {\"tasks\":[]}"},
		{Line: "image task show t1 -f value -c input", Out: "a='1'"},
		{Line: "cached image list -f value", API: "GET image /cache\n" + `= {"cached_images":[{"image_id":"i","last_accessed":0,"last_modified":1700000000.5,"hits":2,"size":3}],"queued_images":["q"]}`, Out: "i\tcached\tN/A\t2023-11-14T22:13:20\t3\t2\nq\tqueued\tN/A\tN/A\tN/A\tN/A"},
		{Line: "cached image queue alpine", API: "PUT image /cache/" + img2},
		{Line: "cached image delete alpine", API: "DELETE image /cache/" + img2},
		{Line: "cached image clear --queue", API: "DELETE image /cache\nH X-Image-Cache-Clear-Target: queue"},
		// Metadata definitions.
		{Line: "image metadef namespace list --visibility public -f value", API: "GET image /metadefs/namespaces?visibility=public\n" + `= {"namespaces":[{"namespace":"ns"}]}`, Out: "ns"},
		{Line: "image metadef namespace show ns -f value -c owner", Out: "o"},
		{Line: "image metadef namespace create new --display-name N --private --protected", API: `POST image /metadefs/namespaces {"namespace":"new","display_name":"N","visibility":"private","protected":true}`},
		{Line: "image metadef namespace set ns --unprotected", API: "PUT image " + ns + ` {"namespace":"ns","display_name":"N","visibility":"public","protected":false,"owner":"o"}`},
		{Line: "image metadef namespace delete ns", API: "DELETE image " + ns},
		{Line: "image metadef object list ns -f value", API: "GET image " + ns + "/objects\n" + `= {"objects":[{"name":"o","description":"d"}]}`, Out: "o\td"},
		{Line: "image metadef object show ns o", API: "GET image " + ns + "/objects/o\n" + `= {"name":"o"}`},
		{Line: "image metadef object create o --namespace ns", API: "POST image " + ns + `/objects {"name":"o"}`},
		{Line: "image metadef object update ns o --name p", API: "GET image " + ns + "/objects/o\n" + `= {"name":"o","description":"d"}` + "\nPUT image " + ns + `/objects/o {"name":"p","description":"d"}`},
		{Line: "image metadef object delete ns o p", API: "DELETE image " + ns + "/objects/o\nDELETE image " + ns + "/objects/p"},
		{Line: "image metadef object property show ns o size -f value", API: "GET image " + ns + "/objects/o\n" + `= {"properties":{"size":{"type":"integer"}}}`, Out: "size\ninteger"},
		{Line: "image metadef object property show ns o nope", API: "GET image " + ns + "/objects/o\n" + `= {"properties":{}}`, Err: `"nope"`},
		{Line: "image metadef property list ns -f value", API: "GET image " + ns + "/properties\n" + `= {"properties":{"p":{"title":"T","type":"string"}}}`, Out: "p\tT\tstring"},
		{Line: "image metadef property show ns p", API: "GET image " + ns + "/properties/p\n= {\"name\":\"p\"}"},
		{Line: `image metadef property create ns --name p --title T --type string --schema '{"maxLength":3}'`, API: "POST image " + ns + `/properties {"maxLength":3,"name":"p","title":"T","type":"string"}`},
		{Line: "image metadef property create ns --name p --title T --type string --schema '['", Err: "--schema is no JSON object"},
		{Line: "image metadef property set ns p --title T2", API: "GET image " + ns + "/properties/p\n" + `= {"name":"p","title":"T"}` + "\nPUT image " + ns + `/properties/p {"name":"p","title":"T2"}`},
		{Line: "image metadef property delete ns", API: "DELETE image " + ns + "/properties"},
		{Line: "image metadef property delete ns p", API: "DELETE image " + ns + "/properties/p"},
		{Line: "image metadef resource type list -f value", Out: "OS::Nova::Flavor"},
		{Line: "image metadef resource type association list ns", API: "GET image " + ns + "/resource_types\n= {\"resource_type_associations\":[]}"},
		{Line: "image metadef resource type association create ns OS::Nova::Flavor", API: "POST image " + ns + `/resource_types {"name":"OS::Nova::Flavor"}`},
		{Line: "image metadef resource type association delete ns OS::Nova::Flavor", API: "DELETE image " + ns + "/resource_types/OS::Nova::Flavor"},
	})
}

func sumOf() string {
	sum := md5.Sum([]byte(data))
	return hex.EncodeToString(sum[:])
}

func TestADownloadIsWholeAndRightOrNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	koctest.Test(t, image.Commands(), have(), []koctest.Case{
		{Line: "image save 'Debian 12' --file " + good, API: "GET image /images/" + img + "/file\n= " + `"x"`, Err: "is damaged"},
		{Line: "image save alpine --file " + bad, API: "GET image /images/" + img2 + "/file\n= " + `"x"`, Err: "was not written"},
		{Line: "image save alpine --file " + bad, API: "GET image /images/" + img2 + "/file\n= 204", Err: "has no data"},
		{Line: "image save alpine", API: "GET image /images/" + img2 + "/file\n= " + `"x"`, Err: "is damaged"},
		{Line: "image save " + img2 + " --file " + good, API: "GET image /images/" + img2 + "\n= {\"id\":\"" + img2 + "\",\"size\":20}\nGET image /images/" + img2 + "/file\n= " + `"x"`, Err: "it has 3 bytes and should have 20"},
		{Line: "image save alpine --file " + dir + "/none/x", API: "GET image /images/" + img2 + "/file\n= " + `"x"`, Err: "--file " + dir + "/none/x: no such file or directory"},
	})
	t.Cleanup(func() {
		if _, err := os.Stat(good); !os.IsNotExist(err) {
			t.Errorf("damaged data was written: %v", err)
		}
		if text, err := os.ReadFile(bad); err != nil || string(text) != "old" {
			t.Errorf("the old file has become %q, %v", text, err)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 1 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

func TestAnImageIsSigned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	keyFile, file := filepath.Join(dir, "key.pem"), filepath.Join(dir, "data")
	for name, text := range map[string][]byte{keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), file: []byte(data)} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The signature is another one each time: the fake says what it got.
	out, err := koctest.Run(t, image.Commands(), have(), koctest.Case{
		Line: "image create signed --file " + file + " --sign-key-path " + keyFile + " --sign-cert-id c1 -f value -c status",
		API:  "POST image /images *\n= {\"id\":\"n1\"}\nPUT image /images/n1/file *\n= 204\nGET image /images/n1\n= {\"id\":\"n1\",\"status\":\"active\"}",
	})
	if err != nil || strings.TrimSpace(out) != "active" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestEveryCommandIsTried(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("requests_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range image.Commands() {
		if !strings.Contains(string(text), "Line: \""+e.Name) && !strings.Contains(string(text), "Line: `"+e.Name) {
			t.Errorf("no case tries %q", e.Name)
		}
	}
}
