package sweep

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Kind is how a call failed.
type Kind string

// The kinds of failures.
const (
	Unauthenticated Kind = "unauthenticated" // no credentials, or none that AWS takes
	Denied          Kind = "denied"          // they do not allow this
	Slow            Kind = "slow"            // AWS wants fewer calls
	TimedOut        Kind = "timed out"
	Unreachable     Kind = "unreachable"
	Garbled         Kind = "garbled" // an answer that makes no sense
	Other           Kind = "other"
)

// CallError is a call that failed, told with what to do about it.
type CallError struct {
	Kind      Kind
	Operation string // like "EC2 DescribeVpcs"
	Code      string // of AWS, "" without one
	Text      string
	err       error
}

// Error tells what failed, why, and what helps.
func (f *CallError) Error() string {
	var b strings.Builder
	if f.Operation != "" {
		b.WriteString(f.Operation + ": ")
	}
	switch f.Kind {
	case Unauthenticated:
		if f.Code == "" {
			b.WriteString("no AWS credentials can be had: " + f.Text + "; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
			break
		}
		b.WriteString("AWS does not take the credentials (" + f.Code + "); renew them, or choose others with AWS_PROFILE")
	case Denied:
		b.WriteString("the credentials do not allow it (" + f.Code + "); allow the action, or use others")
	case Slow:
		b.WriteString("AWS wants fewer calls (" + f.Code + "); try again later")
	case TimedOut:
		b.WriteString("AWS did not answer in time; try again")
	case Unreachable:
		b.WriteString("AWS cannot be reached: " + f.Text + "; check the network, and AWS_ENDPOINT_URL if it is set")
	case Garbled:
		b.WriteString("unreadable answer: " + f.Text + "; something between here and AWS may have answered in its place")
	case Other:
		if f.Code != "" {
			b.WriteString(f.Code + ": ")
		}
		b.WriteString(f.Text)
	}
	return b.String()
}

// Unwrap returns nothing: what the SDK says may quote what is signed, a session
// token for one. [coded] looks at the code instead.
func (f *CallError) Unwrap() error {
	if errors.Is(f.err, context.Canceled) {
		return context.Canceled
	}
	return nil
}

// coded tells whether AWS answered with one of these codes.
func coded(err error, codes ...string) bool {
	f, ok := errors.AsType[*CallError](err)
	return ok && f.Code != "" && slices.Contains(codes, f.Code)
}

// failure reads what the SDK says.
func (c *Cloud) failure(operation string, err error) error {
	f := &CallError{Kind: Other, Operation: operation, err: err}
	if op, ok := errors.AsType[*smithy.OperationError](err); ok && operation == "" {
		f.Operation = op.Service() + " " + op.Operation()
	}
	status := 0
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		status = response.HTTPStatusCode()
	} else if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = response.HTTPStatusCode()
	}
	api, answered := errors.AsType[smithy.APIError](err)
	if answered {
		f.Code = api.ErrorCode()
		f.Text = c.harmless(api.ErrorMessage())
	}
	f.Kind = kindOf(f, answered, status, err)
	return f
}

func kindOf(f *CallError, answered bool, status int, err error) Kind {
	_, unreadable := errors.AsType[*smithy.DeserializationError](err)
	network, broken := errors.AsType[net.Error](err)
	_, unsent := errors.AsType[*smithyhttp.RequestSendError](err)
	switch {
	case f.Operation == "credentials":
		f.Operation, f.Text = "", cause(err)
		return Unauthenticated
	case answered && slices.Contains(refused(), f.Code):
		return Unauthenticated
	case answered && (slices.Contains(denied(), f.Code) || status == 401 || status == 403 && !strings.Contains(f.Code, "Limit")):
		return Denied
	case answered && slices.Contains(throttled(), f.Code):
		return Slow
	case answered && f.Code != "" && f.Code != "UnknownError":
		return Other
	case errors.Is(err, context.DeadlineExceeded) || broken && network.Timeout():
		return TimedOut
	case unsent || broken:
		f.Text = cause(err)
		return Unreachable
	case unreadable || answered:
		f.Text = "no error AWS knows"
		if unreadable {
			f.Text = "no answer of this call"
		}
		return Garbled
	}
	f.Text = cause(err)
	return Other
}

func refused() []string {
	return []string{
		"ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId", "UnrecognizedClientException", "InvalidAccessKeyId",
		"AuthFailure", "SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature", "MissingAuthenticationToken",
		"MissingAuthenticationTokenException", "InvalidToken", "NotAuthorized", "OptInRequired", "TokenRefreshRequired",
	}
}

func denied() []string {
	return []string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "Forbidden", "UnauthorizedAccess", "AllAccessDisabled", "AccountProblem"}
}

func throttled() []string {
	return []string{
		"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "TooManyRequestsException", "RequestLimitExceeded",
		"BandwidthLimitExceeded", "LimitExceededException", "RequestThrottled", "SlowDown", "PriorRequestNotComplete", "EC2ThrottledException",
	}
}

// cause is what lies at the bottom of an error that is none of AWS.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		if _, ok := err.(*net.OpError); ok { //nolint:errorlint // it says what was dialled
			return err.Error()
		}
		err = inner
	}
}

// harmless is a text without secrets, and without the part of it only AWS can read.
func (c *Cloud) harmless(text string) string {
	text, _, _ = strings.Cut(text, "Encoded authorization failure message")
	text, _, _ = strings.Cut(text, "The Canonical String")
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	return strings.TrimSpace(text)
}
