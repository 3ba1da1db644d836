package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestAnotherClusterSecretSealsEveryKeyAnew(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	r := start(t, root)
	p := object.Path{Namespace: "ns1", Kind: object.KindSec, Name: "creds"}
	do(t, r.Client, api.PostObjectConfigFile, api.ObjectConfigCreate{ObjectName: api.Named(p)})
	key := api.DataKeyName{ObjectName: api.Named(p), Key: "token"}
	do(t, r.Client, api.PostObjectDataKey, api.DataKeyValue{DataKeyName: key, RawBody: []byte("hunter2")})
	sealed := do(t, r.Client, api.GetObjectConfigFile, api.Named(p))

	do(t, r.Client, api.PatchClusterConfig, api.ConfigChange{Set: []string{"cluster.secret=another"}})

	eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(root, "etc", "cluster.conf"))
		return err == nil && !strings.Contains(string(text), "former_secrets")
	})
	if got := do(t, r.Client, api.GetObjectDataKey, key); string(got.RawBody) != "hunter2" {
		t.Errorf("got %q", got.RawBody)
	}
	if again := do(t, r.Client, api.GetObjectConfigFile, api.Named(p)); string(again.RawBody) == string(sealed.RawBody) {
		t.Error("the key is sealed with the former secret")
	}
}
