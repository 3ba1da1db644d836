package awstest

import (
	"net"
	"net/http"
)

// How is a way to fail.
type How string

// The ways to fail.
const (
	Deny     How = "denied"   // 403, the code of the service for it
	Expire   How = "expired"  // the credentials have expired
	Crash    How = "crash"    // 500
	Throttle How = "throttle" // too many calls
	Hang     How = "hang"     // no answer
	Reset    How = "reset"    // the connection breaks
	Garbage  How = "garbage"  // a success with the page of a proxy
	Empty    How = "empty"    // a success with nothing
	Cut      How = "cut"      // a success that ends in the middle
	Leak     How = "leak"     // a wrong signature, with what was signed
)

// Hows returns all ways.
func Hows() []How {
	return []How{Deny, Expire, Crash, Throttle, Hang, Reset, Garbage, Empty, Cut, Leak}
}

// Fault makes calls fail.
type Fault struct {
	Call   string // like "ec2:DescribeVpcs", "" for all
	Region string // "" for all
	How    How
	Times  int // how many calls fail, 0 for all

	hit int
}

// Fail adds a fault.
func (a *Account) Fail(f Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append(a.faults, &f)
}

// Heal removes all faults.
func (a *Account) Heal() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = nil
}

func (a *Account) fault(call, region string) How {
	for _, f := range a.faults {
		if f.Call != "" && f.Call != call || f.Region != "" && f.Region != region || f.Times > 0 && f.hit >= f.Times {
			continue
		}
		f.hit++
		return f.How
	}
	return ""
}

// canonical is the name of the ways a service refuses.
func refusal(service string, how How) (status int, code, message string) {
	switch how { //nolint:exhaustive // the others are no refusals
	case Deny:
		switch service {
		case "ec2":
			return 403, "UnauthorizedOperation", "You are not authorized to perform this operation. Encoded authorization failure message: c2VjcmV0"
		case "eks", "servicequotas":
			return 403, "AccessDeniedException", "User is not authorized to perform this action"
		default:
			return 403, "AccessDenied", "User is not authorized to perform this action"
		}
	case Expire:
		switch service {
		case "ec2":
			return 400, "RequestExpired", "Request has expired."
		case "eks", "servicequotas":
			return 403, "ExpiredTokenException", "The security token included in the request is expired"
		case "s3":
			return 400, "ExpiredToken", "The provided token has expired."
		default:
			return 403, "ExpiredToken", "The security token included in the request is expired"
		}
	case Crash:
		switch service {
		case "ec2":
			return 500, "InternalError", "An internal error has occurred"
		case "eks":
			return 500, "ServerException", "Internal error"
		case "servicequotas":
			return 500, "ServiceException", "Internal error"
		default:
			return 500, "InternalFailure", "Internal error"
		}
	case Throttle:
		switch service {
		case "ec2":
			return 503, "RequestLimitExceeded", "Request limit exceeded."
		case "s3":
			return 503, "SlowDown", "Please reduce your request rate."
		case "eks", "servicequotas":
			return 429, "TooManyRequestsException", "Rate exceeded"
		default:
			return 400, "Throttling", "Rate exceeded"
		}
	}
	return 0, "", ""
}

// spoil fails a call. It tells whether it has.
func (c *request) spoil(how How) bool {
	switch how {
	case "":
		return false
	case Deny, Expire, Crash, Throttle:
		status, code, message := refusal(c.service, how)
		c.fail(status, code, message)
	case Leak:
		code := "SignatureDoesNotMatch"
		if c.service == "eks" || c.service == "servicequotas" {
			code = "InvalidSignatureException"
		}
		c.fail(403, code, "The request signature we calculated does not match. The Canonical String for this request should have been "+
			"'POST\n/\nx-amz-security-token:"+c.http.Header.Get("X-Amz-Security-Token")+"'")
	case Hang:
		<-c.http.Context().Done()
	case Reset:
		connection, _, err := http.NewResponseController(c.out).Hijack()
		if err == nil {
			if tcp, ok := connection.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset, no orderly end
			}
			_ = connection.Close()
		}
	case Garbage:
		c.out.Header().Set("Content-Type", "text/html")
		_, _ = c.out.Write([]byte("<html><head><title>Sign in</title></head><body>Welcome to this hotel</body></html>"))
	case Empty:
		c.out.WriteHeader(http.StatusOK)
	case Cut:
		c.out.Header().Set("Content-Type", "text/xml")
		_, _ = c.out.Write([]byte("<" + c.action + "Response><" + c.action + "Result><vpcSet>"))
	}
	return true
}
