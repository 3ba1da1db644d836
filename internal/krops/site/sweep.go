package site

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
)

// Where the AWS provider of Cluster API has its credentials.
const (
	credentialsNamespace = "capa-system"
	credentialsSecret    = "aws-credentials"
	profileKey           = "AWS_B64ENCODED_CREDENTIALS"
)

// lookTime is how long one question about AWS may take, whatever it needs.
const lookTime = time.Minute

// sweepPart is AWS: its quota, the credentials for Cluster API, what is left there.
func (s *Site) sweepPart() part {
	return part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"aws/*":                  s.leftInAWS,
			"target/aws-credentials": s.hasCredentials,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"preflight-eip-quota": s.checkQuota,
			"aws-credentials":     s.writeCredentials,
			"aws-identity":        s.askIdentity,
			"sweep-*":             s.sweepUnit,
			"verify":              s.verify,
		},
	}
}

// scope returns what belongs to the environment in AWS.
func (s *Site) scope() (sweep.Scope, error) {
	return sweep.ScopeOf(s.Settings.File, s.Settings.Environment)
}

// aws returns AWS with the credentials of this process. It is opened once.
func (s *Site) aws() (*sweep.Cloud, sweep.Scope, error) {
	scope, err := s.scope()
	if err != nil {
		return nil, scope, err
	}
	if s.cloud == nil {
		home := scope.Home()
		if home == "" {
			if home, err = s.Settings.Environment.Region(); err != nil {
				return nil, scope, err
			}
		}
		s.cloud = sweep.Open(s.AWS, home)
	}
	return s.cloud, scope, nil
}

// leftInAWS tells whether there is anything of a unit.
func (s *Site) leftInAWS(ctx context.Context, f plan.Fact) plan.Presence {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	cloud, scope, err := s.aws()
	if err != nil {
		return plan.Failed(err.Error())
	}
	return cloud.Look(ctx, sweep.Unit(strings.TrimPrefix(string(f), "aws/")), scope).Presence()
}

// checkQuota checks that each region has the Elastic IPs the clusters need.
func (s *Site) checkQuota(ctx context.Context, _ plan.Step, v run.Voice) error {
	plans, err := s.quotaPlans()
	if err != nil || len(plans) == 0 {
		return err
	}
	cloud, _, err := s.aws()
	if err != nil {
		return err
	}
	return cloud.Quota(ctx, plans, func(line string) { v.Say("%s", line) })
}

func (s *Site) quotaPlans() ([]config.AddressPlan, error) {
	plans, err := s.Settings.Environment.AddressPlans()
	if err != nil {
		return nil, fmt.Errorf("%w for EIP quota check", err)
	}
	return plans, nil
}

// askIdentity finds out who AWS takes us for.
func (s *Site) askIdentity(ctx context.Context, _ plan.Step, v run.Voice) error {
	cloud, _, err := s.aws()
	if err != nil {
		return err
	}
	caller, err := cloud.Identity(ctx)
	if err != nil {
		return fmt.Errorf("AWS cannot be asked what is left there: %w", err)
	}
	v.Detail("account %s, as %s", caller.Account, caller.ARN)
	return nil
}

// sweepUnit removes what there is of a unit.
func (s *Site) sweepUnit(ctx context.Context, step plan.Step, v run.Voice) error {
	cloud, scope, err := s.aws()
	if err != nil {
		return err
	}
	if !s.swept {
		s.swept = true
		v.Say("Cleaning up orphaned AWS resources...")
		for _, t := range scope.Targets {
			v.Detail("[%s] cluster: %s", t.Region, t.EKSName)
		}
	}
	return cloud.Sweep(ctx, sweep.Unit(strings.TrimPrefix(step.ID, "sweep-")), scope, v)
}

// verify looks at everything again: what is left is no success, and neither is
// what cannot be known.
func (s *Site) verify(ctx context.Context, _ plan.Step, v run.Voice) error {
	scope, err := s.scope()
	if err != nil || len(scope.Targets) == 0 {
		return err
	}
	cloud, _, err := s.aws()
	if err != nil {
		return err
	}
	if err := cloud.Verify(ctx, scope); err != nil {
		return err
	}
	v.Done("AWS orphan cleanup complete")
	return nil
}

// hasCredentials tells whether Cluster API has credentials on the management cluster.
func (s *Site) hasCredentials(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.target(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	return c.Lookup(ctx, kube.Secret, credentialsNamespace, credentialsSecret)
}

// writeCredentials gives Cluster API the credentials of this process.
func (s *Site) writeCredentials(ctx context.Context, _ plan.Step, _ run.Voice) error {
	c, err := s.target(ctx)
	if err != nil {
		return err
	}
	cloud, _, err := s.aws()
	if err != nil {
		return err
	}
	profile, err := cloud.Profile(ctx)
	if err != nil {
		return err
	}
	return c.Apply(ctx, kube.NewNamespace(credentialsNamespace),
		kube.NewSecret(credentialsNamespace, credentialsSecret, map[string][]byte{profileKey: []byte(profile)}))
}
