package sweep

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// removeUser removes all a user may have, and the user. AWS refuses to delete one
// that has anything.
func (c *Cloud) removeUser(ctx context.Context, client *iam.Client, name string) error {
	return steps(
		func() error {
			_, err := call(ctx, c, client.DeleteLoginProfile, &iam.DeleteLoginProfileInput{UserName: &name})
			return err
		},
		c.userKeys(ctx, client, name),
		c.userCertificates(ctx, client, name),
		c.userSSHKeys(ctx, client, name),
		c.userServiceCredentials(ctx, client, name),
		c.userDevices(ctx, client, name),
		c.looseDevice(ctx, client, name),
		c.userGroups(ctx, client, name),
		c.userAttachedPolicies(ctx, client, name),
		c.userPolicies(ctx, client, name),
		func() error {
			_, err := call(ctx, c, client.DeleteUser, &iam.DeleteUserInput{UserName: &name})
			return err
		},
	)
}

func (c *Cloud) userKeys(ctx context.Context, client *iam.Client, name string) func() error {
	return all(listing(ctx, c, client.ListAccessKeys, func(mark *string) *iam.ListAccessKeysInput {
		return &iam.ListAccessKeysInput{UserName: &name, Marker: mark}
	}, func(out *iam.ListAccessKeysOutput) (names []string, truncated bool, mark *string) {
		for _, k := range out.AccessKeyMetadata {
			names = append(names, aws.ToString(k.AccessKeyId))
		}
		return names, out.IsTruncated, out.Marker
	}), func(id string) error {
		_, err := call(ctx, c, client.DeleteAccessKey, &iam.DeleteAccessKeyInput{UserName: &name, AccessKeyId: &id})
		return err
	})
}

func (c *Cloud) userCertificates(ctx context.Context, client *iam.Client, name string) func() error {
	return all(listing(ctx, c, client.ListSigningCertificates, func(mark *string) *iam.ListSigningCertificatesInput {
		return &iam.ListSigningCertificatesInput{UserName: &name, Marker: mark}
	}, func(out *iam.ListSigningCertificatesOutput) (names []string, truncated bool, mark *string) {
		for _, k := range out.Certificates {
			names = append(names, aws.ToString(k.CertificateId))
		}
		return names, out.IsTruncated, out.Marker
	}), func(id string) error {
		_, err := call(ctx, c, client.DeleteSigningCertificate, &iam.DeleteSigningCertificateInput{UserName: &name, CertificateId: &id})
		return err
	})
}

func (c *Cloud) userSSHKeys(ctx context.Context, client *iam.Client, name string) func() error {
	return all(listing(ctx, c, client.ListSSHPublicKeys, func(mark *string) *iam.ListSSHPublicKeysInput {
		return &iam.ListSSHPublicKeysInput{UserName: &name, Marker: mark}
	}, func(out *iam.ListSSHPublicKeysOutput) (names []string, truncated bool, mark *string) {
		for _, k := range out.SSHPublicKeys {
			names = append(names, aws.ToString(k.SSHPublicKeyId))
		}
		return names, out.IsTruncated, out.Marker
	}), func(id string) error {
		_, err := call(ctx, c, client.DeleteSSHPublicKey, &iam.DeleteSSHPublicKeyInput{UserName: &name, SSHPublicKeyId: &id})
		return err
	})
}

func (c *Cloud) userServiceCredentials(ctx context.Context, client *iam.Client, name string) func() error {
	return all(listing(ctx, c, client.ListServiceSpecificCredentials, func(mark *string) *iam.ListServiceSpecificCredentialsInput {
		return &iam.ListServiceSpecificCredentialsInput{UserName: &name, Marker: mark}
	}, func(out *iam.ListServiceSpecificCredentialsOutput) (names []string, truncated bool, mark *string) {
		for _, k := range out.ServiceSpecificCredentials {
			names = append(names, aws.ToString(k.ServiceSpecificCredentialId))
		}
		return names, out.IsTruncated, out.Marker
	}), func(id string) error {
		_, err := call(ctx, c, client.DeleteServiceSpecificCredential, &iam.DeleteServiceSpecificCredentialInput{UserName: &name, ServiceSpecificCredentialId: &id})
		return err
	})
}

func (c *Cloud) userDevices(ctx context.Context, client *iam.Client, name string) func() error {
	return all(listing(ctx, c, client.ListMFADevices, func(mark *string) *iam.ListMFADevicesInput {
		return &iam.ListMFADevicesInput{UserName: &name, Marker: mark}
	}, func(out *iam.ListMFADevicesOutput) (names []string, truncated bool, mark *string) {
		for _, d := range out.MFADevices {
			names = append(names, aws.ToString(d.SerialNumber))
		}
		return names, out.IsTruncated, out.Marker
	}), func(serial string) error {
		_, err := call(ctx, c, client.DeactivateMFADevice, &iam.DeactivateMFADeviceInput{UserName: &name, SerialNumber: &serial})
		if err != nil || !strings.Contains(serial, ":mfa/") {
			return err
		}
		_, err = call(ctx, c, client.DeleteVirtualMFADevice, &iam.DeleteVirtualMFADeviceInput{SerialNumber: &serial})
		return err
	})
}

// looseDevice removes the virtual device that has the name of the user and is with
// nobody: a sweep that ended between the two halves of its removal leaves it.
func (c *Cloud) looseDevice(ctx context.Context, client *iam.Client, name string) func() error {
	return all(listing(ctx, c, client.ListVirtualMFADevices, func(mark *string) *iam.ListVirtualMFADevicesInput {
		return &iam.ListVirtualMFADevicesInput{AssignmentStatus: iamtypes.AssignmentStatusTypeUnassigned, Marker: mark}
	}, func(out *iam.ListVirtualMFADevicesOutput) (names []string, truncated bool, mark *string) {
		for _, d := range out.VirtualMFADevices {
			if serial := aws.ToString(d.SerialNumber); d.User == nil && strings.HasSuffix(serial, ":mfa/"+name) {
				names = append(names, serial)
			}
		}
		return names, out.IsTruncated, out.Marker
	}), func(serial string) error {
		_, err := call(ctx, c, client.DeleteVirtualMFADevice, &iam.DeleteVirtualMFADeviceInput{SerialNumber: &serial})
		return err
	})
}

func (c *Cloud) userGroups(ctx context.Context, client *iam.Client, name string) func() error {
	return all(listing(ctx, c, client.ListGroupsForUser, func(mark *string) *iam.ListGroupsForUserInput {
		return &iam.ListGroupsForUserInput{UserName: &name, Marker: mark}
	}, func(out *iam.ListGroupsForUserOutput) (names []string, truncated bool, mark *string) {
		for _, g := range out.Groups {
			names = append(names, aws.ToString(g.GroupName))
		}
		return names, out.IsTruncated, out.Marker
	}), func(group string) error {
		_, err := call(ctx, c, client.RemoveUserFromGroup, &iam.RemoveUserFromGroupInput{UserName: &name, GroupName: &group})
		return err
	})
}

func (c *Cloud) userAttachedPolicies(ctx context.Context, client *iam.Client, name string) func() error {
	return all(listing(ctx, c, client.ListAttachedUserPolicies, func(mark *string) *iam.ListAttachedUserPoliciesInput {
		return &iam.ListAttachedUserPoliciesInput{UserName: &name, Marker: mark}
	}, func(out *iam.ListAttachedUserPoliciesOutput) (names []string, truncated bool, mark *string) {
		for _, p := range out.AttachedPolicies {
			names = append(names, aws.ToString(p.PolicyArn))
		}
		return names, out.IsTruncated, out.Marker
	}), func(arn string) error {
		_, err := call(ctx, c, client.DetachUserPolicy, &iam.DetachUserPolicyInput{UserName: &name, PolicyArn: &arn})
		return err
	})
}

func (c *Cloud) userPolicies(ctx context.Context, client *iam.Client, name string) func() error {
	return all(listing(ctx, c, client.ListUserPolicies, func(mark *string) *iam.ListUserPoliciesInput {
		return &iam.ListUserPoliciesInput{UserName: &name, Marker: mark}
	}, func(out *iam.ListUserPoliciesOutput) (names []string, truncated bool, mark *string) {
		return out.PolicyNames, out.IsTruncated, out.Marker
	}), func(policy string) error {
		_, err := call(ctx, c, client.DeleteUserPolicy, &iam.DeleteUserPolicyInput{UserName: &name, PolicyName: &policy})
		return err
	})
}
