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
	return all(func(mark *string, each func(string)) (*string, error) {
		out, err := call(ctx, c, client.ListAccessKeys, &iam.ListAccessKeysInput{UserName: &name, Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, k := range out.AccessKeyMetadata {
			each(aws.ToString(k.AccessKeyId))
		}
		return more(out.IsTruncated, out.Marker), nil
	}, func(id string) error {
		_, err := call(ctx, c, client.DeleteAccessKey, &iam.DeleteAccessKeyInput{UserName: &name, AccessKeyId: &id})
		return err
	})
}

func (c *Cloud) userCertificates(ctx context.Context, client *iam.Client, name string) func() error {
	return all(func(mark *string, each func(string)) (*string, error) {
		out, err := call(ctx, c, client.ListSigningCertificates, &iam.ListSigningCertificatesInput{UserName: &name, Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, k := range out.Certificates {
			each(aws.ToString(k.CertificateId))
		}
		return more(out.IsTruncated, out.Marker), nil
	}, func(id string) error {
		_, err := call(ctx, c, client.DeleteSigningCertificate, &iam.DeleteSigningCertificateInput{UserName: &name, CertificateId: &id})
		return err
	})
}

func (c *Cloud) userSSHKeys(ctx context.Context, client *iam.Client, name string) func() error {
	return all(func(mark *string, each func(string)) (*string, error) {
		out, err := call(ctx, c, client.ListSSHPublicKeys, &iam.ListSSHPublicKeysInput{UserName: &name, Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, k := range out.SSHPublicKeys {
			each(aws.ToString(k.SSHPublicKeyId))
		}
		return more(out.IsTruncated, out.Marker), nil
	}, func(id string) error {
		_, err := call(ctx, c, client.DeleteSSHPublicKey, &iam.DeleteSSHPublicKeyInput{UserName: &name, SSHPublicKeyId: &id})
		return err
	})
}

func (c *Cloud) userServiceCredentials(ctx context.Context, client *iam.Client, name string) func() error {
	return all(func(mark *string, each func(string)) (*string, error) {
		out, err := call(ctx, c, client.ListServiceSpecificCredentials, &iam.ListServiceSpecificCredentialsInput{UserName: &name, Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, k := range out.ServiceSpecificCredentials {
			each(aws.ToString(k.ServiceSpecificCredentialId))
		}
		return more(out.IsTruncated, out.Marker), nil
	}, func(id string) error {
		_, err := call(ctx, c, client.DeleteServiceSpecificCredential, &iam.DeleteServiceSpecificCredentialInput{UserName: &name, ServiceSpecificCredentialId: &id})
		return err
	})
}

func (c *Cloud) userDevices(ctx context.Context, client *iam.Client, name string) func() error {
	return all(func(mark *string, each func(string)) (*string, error) {
		out, err := call(ctx, c, client.ListMFADevices, &iam.ListMFADevicesInput{UserName: &name, Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, d := range out.MFADevices {
			each(aws.ToString(d.SerialNumber))
		}
		return more(out.IsTruncated, out.Marker), nil
	}, func(serial string) error {
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
	return all(func(mark *string, each func(string)) (*string, error) {
		out, err := call(ctx, c, client.ListVirtualMFADevices, &iam.ListVirtualMFADevicesInput{AssignmentStatus: iamtypes.AssignmentStatusTypeUnassigned, Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, d := range out.VirtualMFADevices {
			if serial := aws.ToString(d.SerialNumber); d.User == nil && strings.HasSuffix(serial, ":mfa/"+name) {
				each(serial)
			}
		}
		return more(out.IsTruncated, out.Marker), nil
	}, func(serial string) error {
		_, err := call(ctx, c, client.DeleteVirtualMFADevice, &iam.DeleteVirtualMFADeviceInput{SerialNumber: &serial})
		return err
	})
}

func (c *Cloud) userGroups(ctx context.Context, client *iam.Client, name string) func() error {
	return all(func(mark *string, each func(string)) (*string, error) {
		out, err := call(ctx, c, client.ListGroupsForUser, &iam.ListGroupsForUserInput{UserName: &name, Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, g := range out.Groups {
			each(aws.ToString(g.GroupName))
		}
		return more(out.IsTruncated, out.Marker), nil
	}, func(group string) error {
		_, err := call(ctx, c, client.RemoveUserFromGroup, &iam.RemoveUserFromGroupInput{UserName: &name, GroupName: &group})
		return err
	})
}

func (c *Cloud) userAttachedPolicies(ctx context.Context, client *iam.Client, name string) func() error {
	return all(func(mark *string, each func(string)) (*string, error) {
		out, err := call(ctx, c, client.ListAttachedUserPolicies, &iam.ListAttachedUserPoliciesInput{UserName: &name, Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, p := range out.AttachedPolicies {
			each(aws.ToString(p.PolicyArn))
		}
		return more(out.IsTruncated, out.Marker), nil
	}, func(arn string) error {
		_, err := call(ctx, c, client.DetachUserPolicy, &iam.DetachUserPolicyInput{UserName: &name, PolicyArn: &arn})
		return err
	})
}

func (c *Cloud) userPolicies(ctx context.Context, client *iam.Client, name string) func() error {
	return all(func(mark *string, each func(string)) (*string, error) {
		out, err := call(ctx, c, client.ListUserPolicies, &iam.ListUserPoliciesInput{UserName: &name, Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, p := range out.PolicyNames {
			each(p)
		}
		return more(out.IsTruncated, out.Marker), nil
	}, func(policy string) error {
		_, err := call(ctx, c, client.DeleteUserPolicy, &iam.DeleteUserPolicyInput{UserName: &name, PolicyName: &policy})
		return err
	})
}
