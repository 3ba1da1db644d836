package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

const boot = config.VerbBootstrap

func TestProfile(t *testing.T) {
	t.Parallel()
	f := checkedIn(t)
	for name, c := range map[string]struct{ env, argument, want, fails string }{
		"C2 an argument that names none":     {"", "bogus", "", "unsupported profile 'bogus'"},
		"C5 the variable wins":               {"aws", "local-host", "aws", ""},
		"C6 the variable wins":               {"local-host", "aws", "local-host", ""},
		"C7 an empty variable is none":       {"", "local-host", "local-host", ""},
		"C8 neither":                         {"", "", "aws", ""},
		"C9 a variable that names none":      {"bogus", "aws", "", "unsupported profile 'bogus' (expected 'local-host' or 'aws' or 'local-talos' or 'azure' or 'gcp')"},
		"an argument in other letters fails": {"", "AWS", "", "unsupported profile 'AWS'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := f.Resolve(boot, c.argument, variables("KROPS_PROFILE="+c.env, "HOME=/home/op"))
			if c.fails != "" {
				refused(t, err, c.fails)
				return
			}
			if err != nil || s.Environment.Name != c.want {
				t.Errorf("%v, %v", s, err)
			}
		})
	}
}

func TestC10AnEmptyEnvironment(t *testing.T) {
	t.Parallel()
	s := resolve(t, checkedIn(t), boot, "local-host")
	e := s.Environment
	same(t, s.RegistryPort, 5001, s.RegistryRetries, 120, s.ReconcileTimeout.String(), "15m", s.ReconcileTimeout.Duration, 15*time.Minute,
		s.GithubUser, "git", s.AgeKeyFile, "age.agekey", s.OCIRepository, "krops", s.OCITag, "latest",
		s.Engine, "", s.GitRepoURL, "", s.GithubToken.IsZero(), true, s.AgePublicKey, "", s.Pivot, true, s.KeepKind, false,
		s.ReadyTimeout.String(), "15m", s.PollInterval, 10, s.KindContext, "kind-mgmt", s.MgmtKubeconfig, "/home/op/.kube/krops-mgmt.yaml",
		e.MgmtCluster, "local-management", e.SyncPath, "mgmt/local-host", e.InfraProviderNamespace, "capd-system", e.InfraProviderName, "docker",
		s.RegistryName, "krops-registry", s.File.Bootstrap.FluxNamespace, "flux-system", s.File.Bootstrap.MgmtNamespace, "default",
		s.SopsAgeKeyFile, "age.agekey")
}

func TestC11SomeVariables(t *testing.T) {
	t.Parallel()
	s := resolve(t, checkedIn(t), boot, "", "REGISTRY_PORT=5500", "LOCAL_RECONCILE_TIMEOUT=30m", "GITHUB_USER=", "OCI_TAG=dev")
	same(t, s.Environment.Name, "aws", s.RegistryPort, 5500, s.ReconcileTimeout.String(), "30m", s.GithubUser, "git", s.OCITag, "dev", s.ReadyTimeout.String(), "40m")
}

func TestC12TheVariablesOfThePivot(t *testing.T) {
	t.Parallel()
	s := resolve(t, checkedIn(t), boot, "aws", "BOOTSTRAP_PIVOT=0", "PIVOT_SKIP_DELETE=1", "MGMT_READY_TIMEOUT=25m", "MGMT_POLL_INTERVAL=5",
		"MGMT_KUBECONFIG=/tmp/mgmt.yaml", "BOOTSTRAP_KUBECONTEXT=other-ctx")
	same(t, s.Pivot, false, s.KeepKind, true, s.ReadyTimeout.String(), "25m", s.PollInterval, 5, s.MgmtKubeconfig, "/tmp/mgmt.yaml", s.KindContext, "other-ctx")
}

func TestC13C14TheToolbox(t *testing.T) {
	t.Parallel()
	f := checkedIn(t)
	for name, c := range map[string]struct {
		env      []string
		endpoint string
		rewrites bool
	}{
		"C13": {[]string{"KROPS_TOOLBOX=1", "ENGINE_SOCK=/run/user/501/podman/podman.sock", "KUBECONFIG=/k"}, "krops-registry:5000", false},
		"C14": {nil, "localhost:5001", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := resolve(t, f, boot, "local-host", c.env...)
			host, port := s.RegistryEndpoint()
			same(t, fmt.Sprintf("%s:%d", host, port), c.endpoint, s.RewritesEndpoints(), c.rewrites, s.Toolbox, c.env != nil)
			if c.env != nil {
				same(t, s.EngineSocket, "/run/user/501/podman/podman.sock")
			}
		})
	}
}

func TestAWrongVariable(t *testing.T) {
	t.Parallel()
	f := checkedIn(t)
	for name, c := range map[string]struct {
		verb      config.Verb
		env, want string
	}{
		"C15 an interval":             {boot, "MGMT_POLL_INTERVAL=often", "MGMT_POLL_INTERVAL must be a positive integer"},
		"C15 an interval of 0":        {boot, "MGMT_POLL_INTERVAL=0", "MGMT_POLL_INTERVAL must be a positive integer, got 0"},
		"C16 a timeout":               {boot, "MGMT_READY_TIMEOUT=abc", "MGMT_READY_TIMEOUT must be a duration (40m, 2h, 90s, or bare seconds)"},
		"no time":                     {boot, "MGMT_READY_TIMEOUT=0m", "MGMT_READY_TIMEOUT must be longer than 0"},
		"a kind cluster too long":     {boot, "KROPS_KIND_CLUSTER=" + strings.Repeat("k", 50), "has 50 characters, 49 are the most"},
		"a kind cluster that is none": {boot, "KROPS_KIND_CLUSTER=-k", "the name of the kind cluster \"-k\" is none that is taken"},
		"C17 a port":                  {boot, "REGISTRY_PORT=not-a-port", "REGISTRY_PORT must be a port number (1-65535)"},
		"Q3 port 0":                   {boot, "REGISTRY_PORT=0", "REGISTRY_PORT must be a port number"},
		"a port too high":             {boot, "REGISTRY_PORT=65536", "REGISTRY_PORT must be a port number"},
		"retries":                     {boot, "REGISTRY_READY_RETRIES=-1", "REGISTRY_READY_RETRIES must be a non-negative integer"},
		"X10 an engine":               {boot, "CONTAINER_ENGINE=lxc", "Unsupported CONTAINER_ENGINE 'lxc' (expected 'docker' or 'podman')"},
		"a toolbox":                   {boot, "KROPS_TOOLBOX=1", "KUBECONFIG must name one writable file when KROPS_TOOLBOX=1"},
		"D19 a deletion":              {config.VerbTeardown, "CLUSTER_DELETE_TIMEOUT=forever", "CLUSTER_DELETE_TIMEOUT must be a number of seconds"},
		"D19 a suffix":                {config.VerbTeardown, "PROVIDER_DELETE_TIMEOUT=5m", "PROVIDER_DELETE_TIMEOUT must be a number of seconds"},
		"Q5 an age":                   {config.VerbOrphans, "ORPHAN_MIN_AGE_HOURS=old", "ORPHAN_MIN_AGE_HOURS must be a number of hours"},
		"R8 a sign":                   {boot, "KROPS_RUN_TTL=-1", "KROPS_RUN_TTL"},
		"R8 a suffix":                 {boot, "KROPS_RUN_TTL=1d", "KROPS_RUN_TTL"},
		"R8 a product too big":        {boot, "KROPS_RUN_TTL=9223372036854775807h", "KROPS_RUN_TTL"},
		"R8 a number too big":         {boot, "KROPS_RUN_TTL=99999999999999999999", "KROPS_RUN_TTL"},
		"a reconcile timeout":         {boot, "LOCAL_RECONCILE_TIMEOUT=soon", "LOCAL_RECONCILE_TIMEOUT must be a duration"},
		"a reconcile timeout of 0":    {boot, "LOCAL_RECONCILE_TIMEOUT=0", "LOCAL_RECONCILE_TIMEOUT must be a duration that is not 0"},
		"a reconcile timeout of Go":   {boot, "LOCAL_RECONCILE_TIMEOUT=1h30m", ""},
		"an engine of a teardown":     {config.VerbTeardown, "CONTAINER_ENGINE=lxc", ""},
		"a toolbox without clusters":  {config.VerbOrphans, "KROPS_TOOLBOX=1", ""},
		"a secret stays out of it":    {boot, "CONTAINER_ENGINE=", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := f.Resolve(c.verb, "aws", variables(c.env, "GITHUB_TOKEN=hunter2", "HOME=/h"))
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused(t, err, c.want)
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the token is in the message")
			}
		})
	}
}

func TestTwoKubeconfigsInTheToolboxAreRefused(t *testing.T) {
	t.Parallel()
	_, err := checkedIn(t).Resolve(boot, "aws", variables("HOME=/home/op", "KROPS_TOOLBOX=1", "KUBECONFIG=/a:/b"))
	refused(t, err, "KUBECONFIG must name a single file when KROPS_TOOLBOX=1")
}

func TestATeardownReadsItsOwnVariablesOnly(t *testing.T) {
	t.Parallel()
	s := resolve(t, checkedIn(t), config.VerbTeardown, "aws", "REGISTRY_PORT=x", "MGMT_POLL_INTERVAL=0", "KROPS_KIND_CLUSTER=b", "KROPS_REGISTRY_NAME=rb", "CLUSTER_DELETE_TIMEOUT=60")
	same(t, s.KindCluster, "b", s.KindContext, "kind-b", s.RegistryName, "rb", s.ClusterTimeout, 60, s.ProviderTimeout, 300)

	_, err := checkedIn(t).Resolve(config.VerbTeardown, "aws", variables())
	refused(t, err, "HOME is not set; cannot locate the management kubeconfig")
}

func TestD19TheTimeoutsOfATeardown(t *testing.T) {
	t.Parallel()
	s := resolve(t, checkedIn(t), config.VerbTeardown, "aws")
	same(t, s.ClusterTimeout, 1200, s.ProviderTimeout, 300)
}

func TestD18AGateIsOnWithOneOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"1": true, "0": false, "true": false, "yes": false, "01": false, "": false} {
		s := resolve(t, checkedIn(t), config.VerbTeardown, "aws", "AWS_ONLY="+text)
		same(t, s.AWSOnly, want)
		same(t, resolve(t, checkedIn(t), boot, "aws", "BOOTSTRAP_PIVOT="+text).Pivot, want || text == "")
	}
}

func TestTheNamesOfARunOfItsOwn(t *testing.T) {
	t.Parallel()
	s := resolve(t, checkedIn(t), boot, "aws", "KROPS_KIND_CLUSTER=krops-a")
	same(t, s.KindCluster, "krops-a", s.KindContext, "kind-krops-a")
	s = resolve(t, checkedIn(t), boot, "aws", "KROPS_KIND_CLUSTER=krops-a", "BOOTSTRAP_KUBECONTEXT=mine")
	same(t, s.KindContext, "mine")
}

func TestX1X2TheEngineOfTheToolbox(t *testing.T) {
	t.Parallel()
	f := checkedIn(t)
	same(t, resolve(t, f, boot, "aws").ContainerHost, "",
		resolve(t, f, boot, "aws", "KROPS_TOOLBOX=1", "KUBECONFIG=/k").ContainerHost, "unix:///var/run/docker.sock",
		resolve(t, f, boot, "aws", "KROPS_TOOLBOX=1", "KUBECONFIG=/k", "CONTAINER_HOST=custom").ContainerHost, "custom",
		resolve(t, f, boot, "aws", "KROPS_TOOLBOX=1", "KUBECONFIG=/k", "CONTAINER_HOST=").ContainerHost, "")
}

func TestDurations(t *testing.T) {
	const spaced = " 30m "
	t.Parallel()
	for text, want := range map[string]float64{"40m": 2400, "15m": 900, "90s": 90, "2h": 7200, "1200": 1200, spaced: 1800} {
		t.Run("C18 "+text, func(t *testing.T) {
			t.Parallel()
			d, err := config.ParseDuration(text)
			if err != nil || d.Seconds() != want {
				t.Errorf("%v, %v", d, err)
			}
		})
	}
	for _, text := range []string{"", "m", "40x", "4-0m", "forty", "1h30m", "+5m", "1.5h", "99999999999999999999", "9223372036854775807h", "٣m"} {
		t.Run("C19 "+text, func(t *testing.T) {
			t.Parallel()
			_, err := config.ParseDuration(text)
			refused(t, err, "invalid duration '"+text+"' (expected forms like 40m, 2h, 90s, or bare seconds)")
		})
	}
}

func TestC20ToC26WhatFollowsFromTheFile(t *testing.T) {
	t.Parallel()
	f := checkedIn(t)
	of := func(name string) *config.Environment {
		e, err := f.Environment(name)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	aws, local := of("aws"), of("local-host")
	base := "kind helm kubectl clusterctl mise"
	synthetic := *of("azure")
	synthetic.PivotSopsSecrets = []string{"a.sops.yaml"}
	for name, c := range map[string][2]any{
		"C20 management cluster":   {aws.MgmtCluster, "eu-north-1-management"},
		"C20 manifests":            {strings.Join(aws.ProviderManifests, " "), strings.Join(manifestsOf("aws", "capi-system/namespace capi-system/providers capa-system/namespace capa-system/providers caaph-system/namespace caaph-system/addon-provider"), " ")},
		"C20 fallback":             {aws.MoveFallbacks[0].Manifest, "mgmt/aws/infrastructure/aws-identity/identity.yaml"},
		"C20 none":                 {len(local.MoveFallbacks), 0},
		"C21 aws":                  {aws.Sync, config.SyncGithub},
		"C21 talos":                {of("local-talos").Sync, config.SyncGithub},
		"C21 local":                {local.Sync, config.SyncOCI},
		"C22 aws":                  {resolve(t, f, boot, "aws").NeedsGithub(), true},
		"C22 talos":                {resolve(t, f, boot, "local-talos").NeedsGithub(), true},
		"C22 local":                {resolve(t, f, boot, "local-host").NeedsGithub(), false},
		"C23":                      {strings.Join(aws.Tools(), " "), base + " aws"},
		"C24":                      {strings.Join(of("local-talos").Tools(), " "), base},
		"C25":                      {strings.Join(local.Tools(), " "), base + " flux curl"},
		"C26 none of azure":        {strings.Join(of("azure").Tools(), " "), base},
		"C26 none of aws":          {strings.Contains(strings.Join(aws.Tools(), " "), "sops"), false},
		"C26 with secrets":         {strings.Join(synthetic.Tools(), " "), base + " sops"},
		"C27":                      {strings.Join(of("azure").Hook(), " "), "mise -E azure run arc-federate"},
		"no hook":                  {len(aws.Hook()), 0},
		"E4 region of a suffix":    {region(t, aws), "eu-north-1"},
		"Q18 a region of its own":  {region(t, load(t, "every-key.toml").Environments[1]), "eu-central-1"},
		"D16 the name of a bucket": {f.Bucket("123456789012", "eu-north-1-workload"), "krops-123456789012-eu-north-1-workload-data"},
		"O3 no account":            {f.Bucket("", "c"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, c[0], c[1])
		})
	}
	_, err := (&config.Environment{MgmtCluster: "eu-north-1-mgmt"}).Region()
	refused(t, err, "does not end with '-management'")
}

func manifestsOf(env, list string) []string {
	var files []string
	for name := range strings.FieldsSeq(list) {
		files = append(files, "mgmt/"+env+"/capi-providers/"+name+".yaml")
	}
	return files
}

func region(t *testing.T, e *config.Environment) string {
	t.Helper()
	name, err := e.Region()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestD20TheTargetsOfTheSweep(t *testing.T) {
	t.Parallel()
	f := checkedIn(t)
	targets, err := f.Environments[1].SweepTargets()
	if err != nil {
		t.Fatal(err)
	}
	last := targets[len(targets)-1]
	same(t, len(targets), 3, targets[0].EKSName, "default_eu-north-1-workload-control-plane",
		last, config.SweepTarget{
			Region: "eu-north-1", Cluster: "eu-north-1-management",
			EKSName: "default_eu-north-1-management-control-plane", RDSInstance: "krops-eu-north-1-management-db", Management: true,
		},
		f.Bucket("1", last.Cluster), "krops-1-eu-north-1-management-data")
	same(t, targets[0].OwnershipTag(), "sigs.k8s.io/cluster-api-provider-aws/cluster/eu-north-1-workload") // D17
	none, err := f.Environments[0].SweepTargets()
	same(t, len(none), 0, err, nil)
}

func TestShownSettingsHideSecrets(t *testing.T) {
	t.Parallel()
	s := resolve(t, checkedIn(t), boot, "aws", "GITHUB_TOKEN=hunter2")
	seen := map[string]string{}
	for _, setting := range s.Shown() {
		seen[setting.Name] = setting.Value
	}
	same(t, seen["GITHUB_TOKEN"], "***", seen["REGISTRY_PORT"], "5001", seen["MGMT_READY_TIMEOUT"], "40m", seen["KROPS_RUN_TTL"], "86400s", seen["AWS_ONLY"], "")
	if text := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(text, "hunter2") {
		t.Error("printing the settings shows the token")
	}
}

func TestRunMetadata(t *testing.T) {
	t.Parallel()
	f := checkedIn(t)
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.FixedZone("", 3600))
	for name, c := range map[string]struct {
		env    []string
		branch string
		want   config.Metadata
	}{
		"nothing":                {nil, "", config.Metadata{RunID: "aws-2026-11-30T07:00:00Z", Revision: "unknown", ExpiresAt: "2026-12-01T07:00:00Z", RunKind: "manual"}},
		"R1 an id":               {[]string{"KROPS_RUN_ID=gha-123"}, "sha", config.Metadata{RunID: "gha-123", Revision: "sha", ExpiresAt: "2026-12-01T07:00:00Z", RunKind: "manual"}},
		"R2 for ever":            {[]string{"KROPS_RUN_ID=a", "KROPS_RUN_TTL=none"}, "", config.Metadata{RunID: "a", Revision: "unknown", ExpiresAt: "never", RunKind: "manual"}},
		"R8 hours":               {[]string{"KROPS_RUN_ID=a", "KROPS_RUN_TTL= 2h "}, "", config.Metadata{RunID: "a", Revision: "unknown", ExpiresAt: "2026-11-30T09:00:00Z", RunKind: "manual"}},
		"R8 minutes":             {[]string{"KROPS_RUN_ID=a", "KROPS_RUN_TTL=30m"}, "", config.Metadata{RunID: "a", Revision: "unknown", ExpiresAt: "2026-11-30T07:30:00Z", RunKind: "manual"}},
		"R8 seconds":             {[]string{"KROPS_RUN_ID=a", "KROPS_RUN_TTL=3600"}, "", config.Metadata{RunID: "a", Revision: "unknown", ExpiresAt: "2026-11-30T08:00:00Z", RunKind: "manual"}},
		"R8 spaces":              {[]string{"KROPS_RUN_ID=a", "KROPS_RUN_TTL=  "}, "", config.Metadata{RunID: "a", Revision: "unknown", ExpiresAt: "2026-12-01T07:00:00Z", RunKind: "manual"}},
		"the commit forwarded":   {[]string{"KROPS_RUN_ID=a", "KROPS_OCI_GIT_SHA=abc"}, "", config.Metadata{RunID: "a", Revision: "abc", ExpiresAt: "2026-12-01T07:00:00Z", RunKind: "manual"}},
		"the branch before that": {[]string{"KROPS_RUN_ID=a", "KROPS_OCI_GIT_SHA=abc"}, "def", config.Metadata{RunID: "a", Revision: "def", ExpiresAt: "2026-12-01T07:00:00Z", RunKind: "manual"}},
		"a revision before all":  {[]string{"KROPS_RUN_ID=a", "KROPS_REVISION=r", "KROPS_RUN_KIND=emergency"}, "def", config.Metadata{RunID: "a", Revision: "r", ExpiresAt: "2026-12-01T07:00:00Z", RunKind: "emergency"}},
		"a thousand years":       {[]string{"KROPS_RUN_ID=a", "KROPS_RUN_TTL=31556952000"}, "", config.Metadata{RunID: "a", Revision: "unknown", ExpiresAt: "3026-11-30T19:00:00Z", RunKind: "manual"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := resolve(t, f, boot, "aws", c.env...).Metadata(now, c.branch)
			same(t, m, c.want, err, nil)
		})
	}
	for name, env := range map[string]string{
		"R8 a year too far": "KROPS_RUN_TTL=999999999999", "R8 the sum too big": "KROPS_RUN_TTL=9223372036854775807",
		"a character no tag takes": "KROPS_RUN_ID=a&b", "a value too long": "KROPS_RUN_ID=" + strings.Repeat("x", 257),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Before anything is made.
			if s, err := f.Resolve(boot, "aws", variables("HOME=/h", env)); err == nil {
				t.Errorf("%v", s.Run)
			}
			resolve(t, f, config.VerbTeardown, "aws", env)
		})
	}
}

func TestNamesThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	f := checkedIn(t)
	for _, env := range []string{
		"KROPS_KIND_CLUSTER=x/../../containers/foreign", "KROPS_KIND_CLUSTER=Mgmt", "KROPS_KIND_CLUSTER= ", "KROPS_KIND_CLUSTER=a\nb",
		"KROPS_REGISTRY_NAME=../networks/foreign", "KROPS_REGISTRY_NAME=a b", "KROPS_REGISTRY_NAME=-rf",
	} {
		name, _, _ := strings.Cut(env, "=")
		for _, verb := range []config.Verb{boot, config.VerbTeardown} {
			if _, err := f.Resolve(verb, "aws", variables("HOME=/h", env)); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v %q: %v", verb, env, err)
			}
		}
	}
	resolve(t, f, config.VerbOrphans, "aws", "KROPS_REGISTRY_NAME=../networks/foreign")
}

func TestRepository(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://github.com/polarsquad/krops", "https://github.com/polarsquad/krops/", "https://github.com/polarsquad/krops.git", "https://github.com/polarsquad/krops.git.git/"} {
		t.Run("G1 "+address, func(t *testing.T) {
			t.Parallel()
			owner, name, err := config.Repository(address)
			same(t, owner+"/"+name, "polarsquad/krops", err, nil)
		})
	}
	for _, address := range []string{"", "git@github.com:a/b", "http://github.com/a/b", "https://gitlab.com/a/b", "https://github.com/a", "https://github.com/a/b/c", "https://github.com/a/b?c", "https://github.com//b"} {
		_, _, err := config.Repository(address)
		refused(t, err, "GIT_REPO_URL must be an HTTPS GitHub repository URL")
	}
}

func TestAgeKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, public, missing string }{
		"A1 whole":                     {"# created: 2026\n# public key: age1abc \r\nAGE-SECRET-KEY-1X\n", "age1abc", ""},
		"A2 garbage":                   {"garbage", "", "# created: header, # public key: comment, AGE-SECRET-KEY- line"},
		"A3 no public key":             {"# created: 2026\nAGE-SECRET-KEY-1X", "", "# public key: comment"},
		"a public key without a space": {"# created: 2026\n# public key:age1abc\nAGE-SECRET-KEY-1X", "", "# public key: comment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := config.ReadAgeKey(c.text)
			same(t, key.Public, c.public, strings.Join(key.Missing, ", "), c.missing)
		})
	}
	for name, c := range map[string][3]string{
		"A5 the same": {"age1a", "age1a", "age1a"}, "A8 not asked": {"", "age1a", "age1a"}, "A8 spaces": {"  ", "age1a", "age1a"},
		"A9 not in the file": {" age1b ", "", "age1b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			public, err := config.AgePublicKey(c[0], c[1])
			same(t, public, c[2], err, nil)
		})
	}
	_, err := config.AgePublicKey("age1a", "age1b") // A6
	refused(t, err, "age1a")
	refused(t, err, "age1b")
	_, err = config.AgePublicKey("", "") // A9
	refused(t, err, "no age public key")
}

func TestAnArtifactThatNoRegistryTakesIsRefused(t *testing.T) {
	t.Parallel()
	f := checkedIn(t)
	for env, want := range map[string]string{
		"OCI_TAG=a b": "OCI_TAG", "OCI_TAG=-a": "OCI_TAG", "OCI_REPOSITORY=Krops": "OCI_REPOSITORY", "OCI_REPOSITORY=../a": "OCI_REPOSITORY",
		"KROPS_OCI_GIT_SHA=abc": "KROPS_OCI_GIT_REF",
	} {
		_, err := f.Resolve(boot, "local-host", variables("HOME=/home/op", env))
		refused(t, err, want)
		if _, err := f.Resolve(config.VerbTeardown, "local-host", variables("HOME=/home/op", env)); err != nil {
			t.Errorf("a teardown with %s: %v", env, err)
		}
	}
	resolve(t, f, boot, "local-host", "OCI_REPOSITORY=a/b-c.d", "OCI_TAG=v1.2_x-3", "KROPS_OCI_GIT_SHA=a", "KROPS_OCI_GIT_REF=b", "KROPS_OCI_SOURCE_URL=c")
}
