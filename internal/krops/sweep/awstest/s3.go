package awstest

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// s3 finds an action of S3, addressed by paths.
func (c *request) s3() (action string, answer func()) {
	name, key, _ := strings.Cut(strings.Trim(c.http.URL.Path, "/"), "/")
	query := c.http.URL.Query()
	switch {
	case name == "" && c.http.Method == http.MethodGet:
		return "ListBuckets", c.listBuckets
	case key != "":
		return "Object", nil
	case c.http.Method == http.MethodHead:
		return "HeadBucket", c.onBucket(name, func(*Thing) { c.out.WriteHeader(http.StatusOK) })
	case c.http.Method == http.MethodGet && query.Has("versions"):
		return "ListObjectVersions", c.onBucket(name, c.listVersions)
	case c.http.Method == http.MethodGet && query.Has("object-lock"):
		return "GetObjectLockConfiguration", c.onBucket(name, func(t *Thing) {
			if t.Refs["lock"] == "" {
				c.fail(http.StatusNotFound, "ObjectLockConfigurationNotFoundError", "Object Lock configuration does not exist for this bucket")
				return
			}
			c.xml(http.StatusOK, e("ObjectLockConfiguration", e("ObjectLockEnabled", "Enabled")))
		})
	case c.http.Method == http.MethodPost && query.Has("delete"):
		return "DeleteObjects", c.onBucket(name, c.deleteObjects)
	case c.http.Method == http.MethodDelete:
		return "DeleteBucket", c.onBucket(name, func(t *Thing) {
			if len(t.Objects) > 0 {
				c.fail(http.StatusConflict, "BucketNotEmpty", "The bucket you tried to delete is not empty. You must delete all versions in the bucket.")
				return
			}
			c.remove(t)
			c.out.WriteHeader(http.StatusNoContent)
		})
	}
	return c.http.Method, nil
}

// onBucket answers for a bucket that is there, ours and in this region.
func (c *request) onBucket(name string, answer func(*Thing)) func() {
	return func() {
		t := c.find("", "bucket", name)
		switch {
		case t == nil:
			c.fail(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
			return
		case t.Refs["account"] != "" && t.Refs["account"] != c.http.Header.Get("X-Amz-Expected-Bucket-Owner"):
			c.fail(http.StatusForbidden, "AccessDenied", "Access Denied")
			return
		}
		c.out.Header().Set("X-Amz-Bucket-Region", t.Refs["region"])
		if t.Refs["region"] != c.region {
			c.fail(http.StatusMovedPermanently, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint.")
			return
		}
		answer(t)
	}
}

func (c *request) listBuckets() {
	var list []*Thing
	for _, t := range c.all("", "bucket") {
		if t.Refs["account"] == "" || t.Refs["account"] == c.ID {
			list = append(list, t)
		}
	}
	page, next := paged(list, id, c.http.URL.Query().Get("continuation-token"), c.Page)
	buckets := e("Buckets")
	for _, t := range page {
		buckets.kids = append(buckets.kids, e("Bucket", e("Name", t.ID), e("CreationDate", t.Made.Format(time.RFC3339)), e("BucketRegion", t.Refs["region"])))
	}
	content := []any{buckets}
	if next != "" {
		content = append(content, e("ContinuationToken", next))
	}
	c.xml(http.StatusOK, e("ListAllMyBucketsResult", content...))
}

// place is where a version stands in a listing.
func (v Version) place() string { return v.Key + "\x00" + v.ID }

func (c *request) listVersions(t *Thing) {
	query := c.http.URL.Query()
	list := slices.Clone(t.Objects)
	slices.SortFunc(list, func(x, y Version) int { return strings.Compare(x.place(), y.place()) })
	mark := ""
	if k := query.Get("key-marker"); k != "" {
		mark = k + "\x00" + query.Get("version-id-marker")
	}
	page, next := paged(list, Version.place, mark, c.Page)
	shown := func(key string) string {
		if query.Get("encoding-type") == "url" {
			return url.QueryEscape(key)
		}
		return key
	}
	content := []any{e("Name", t.ID), e("IsTruncated", next != "")}
	for _, v := range page {
		name := "Version"
		if v.Marker {
			name = "DeleteMarker"
		}
		content = append(content, e(name, e("Key", shown(v.Key)), e("VersionId", v.ID), e("IsLatest", "false")))
	}
	if next != "" {
		last := page[len(page)-1]
		content = append(content, e("NextKeyMarker", shown(last.Key)), e("NextVersionIdMarker", last.ID))
	}
	c.xml(http.StatusOK, e("ListVersionsResult", content...))
}

func (c *request) deleteObjects(t *Thing) {
	var asked struct {
		Object []struct {
			Key       string
			VersionID string `xml:"VersionId"`
		}
		Quiet bool
	}
	if err := xml.Unmarshal(c.body, &asked); err != nil || len(asked.Object) == 0 || len(asked.Object) > 1000 {
		c.fail(http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed")
		return
	}
	var result []el
	for _, o := range asked.Object {
		i := slices.IndexFunc(t.Objects, func(v Version) bool { return v.Key == o.Key && v.ID == o.VersionID })
		switch {
		case i >= 0 && t.Objects[i].Refuse != "":
			result = append(result, e("Error", e("Key", o.Key), e("VersionId", o.VersionID), e("Code", t.Objects[i].Refuse), e("Message", "Access Denied")))
			continue
		case i >= 0:
			t.Objects = slices.Delete(t.Objects, i, i+1)
		}
		if !asked.Quiet {
			result = append(result, e("Deleted", e("Key", o.Key), e("VersionId", o.VersionID)))
		}
	}
	c.xml(http.StatusOK, e("DeleteResult", result))
}
