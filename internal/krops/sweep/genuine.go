package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// genuine makes a client refuse a success that is no answer of the call. Without
// it the SDK reads an empty body, or the page of a proxy, as an empty listing:
// everything would be gone.
func genuine(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("Genuine", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		response, ok := out.RawResponse.(*smithyhttp.Response)
		if err != nil || !ok || response.StatusCode < 200 || response.StatusCode > 299 {
			return out, metadata, err
		}
		service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
		want := signature(service, operation)
		if want == "" {
			return out, metadata, nil
		}
		body, err := io.ReadAll(response.Body)
		err = errors.Join(err, response.Body.Close())
		response.Body = io.NopCloser(bytes.NewReader(body))
		if err == nil {
			err = signed(body, want)
		}
		if err != nil {
			err = &smithy.DeserializationError{Err: fmt.Errorf("no answer to %s of %s: %w", operation, service, err)}
		}
		return out, metadata, err
	}), middleware.After)
}

// signature is what an answer must have: the name of its XML document, or with a
// dot before it that of a JSON member. It is "" for answers without a body.
func signature(service, operation string) string {
	switch service {
	case "EKS":
		return map[string]string{
			"DescribeCluster": ".cluster", "DeleteCluster": ".cluster", "ListNodegroups": ".nodegroups", "DescribeNodegroup": ".nodegroup", "DeleteNodegroup": ".nodegroup",
		}[operation]
	case "Service Quotas":
		return ".Quota"
	case "S3":
		return map[string]string{"ListBuckets": "ListAllMyBucketsResult", "ListObjectVersions": "ListVersionsResult", "DeleteObjects": "DeleteResult"}[operation]
	case "EC2", "RDS", "IAM", "STS", "CloudFormation", "Elastic Load Balancing", "Elastic Load Balancing v2":
		return operation + "Response"
	}
	return ""
}

// signed tells whether a text is the whole of a document.
func signed(body []byte, want string) error {
	if want[0] == '.' {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(body, &members); err != nil {
			return err
		}
		if raw, ok := members[want[1:]]; !ok || string(raw) == "null" {
			return fmt.Errorf("%s is missing", want[1:])
		}
		return nil
	}
	decoder := xml.NewDecoder(bytes.NewReader(body))
	root := ""
	for {
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && root == want:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("it is empty")
		case err != nil:
			return err
		}
		if start, ok := token.(xml.StartElement); ok && root == "" {
			if root = start.Name.Local; root != want {
				return fmt.Errorf("a document %s instead of %s", root, want)
			}
		}
	}
}
