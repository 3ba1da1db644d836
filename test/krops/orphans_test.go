package krops_test

import (
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

// The program finds an account as it finds AWS: by the variables of its environment.
func TestOrphansOfAnAccount(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.Epoch = time.Now().Add(-10*time.Hour - time.Minute)
	a.AddCluster(awstest.Cluster{Owner: "me", Region: "eu-north-1", Name: "eu-north-1-workload"})
	a.AddCluster(awstest.Cluster{Owner: "other", Region: "eu-north-1", Name: "eu-north-1-workload-2"})
	a.AddStack("me", "eu-west-1", "cluster-api-provider-aws-sigs-k8s-io", "")
	foreign := a.Dump("other")
	address := a.Serve(t)

	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Files:               []string{"orphans.txtar"},
			UpdateScripts:       *update,
			RequireExplicitExec: true,
			Setup: func(e *testscript.Env) error {
				e.Vars = append(e.Vars, "HOME="+e.WorkDir, "AWS_ENDPOINT_URL="+address, "AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=secret-of-mine",
					"AWS_EC2_METADATA_DISABLED=true")
				return nil
			},
		})
	})

	if a.Dump("other") != foreign {
		t.Error("another's things are touched")
	}
}
