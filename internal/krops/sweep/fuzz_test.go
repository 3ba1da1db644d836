package sweep_test

import (
	"encoding/xml"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
)

// What is taken for an answer is a whole document with the name of the call.
func FuzzSigned(f *testing.F) {
	for _, text := range []string{
		"", "{}", `{"cluster":{}}`, `{"cluster":null}`, "<html></html>", "<DescribeVpcsResponse/>", "<DescribeVpcsResponse><vpcSet>",
		"<?xml version=\"1.0\"?>\n<DescribeVpcsResponse><vpcSet/></DescribeVpcsResponse>", "<a/><DescribeVpcsResponse/>",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_ = sweep.Signed(body, ".cluster")
		if sweep.Signed(body, "DescribeVpcsResponse") != nil {
			return
		}
		var document struct{ XMLName xml.Name }
		if err := xml.Unmarshal(body, &document); err != nil || document.XMLName.Local != "DescribeVpcsResponse" {
			t.Errorf("%q is taken for an answer: %v", body, err)
		}
	})
}

func FuzzTimestamp(f *testing.F) {
	for _, text := range []string{"2026-11-30T10:00:00Z", "2026-11-30T12:00:00.5+02:00", "never", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := sweep.Timestamp(text)
		if !ok {
			return
		}
		again, ok := sweep.Timestamp(at.Format(time.RFC3339Nano))
		if !ok || !again.Equal(at) {
			t.Errorf("%q is %v, then %v", text, at, again)
		}
	})
}
