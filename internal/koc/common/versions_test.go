package common_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/koc/common"
)

func TestVersionsKeepTheOrderInWhichTheCatalogSpeaksOfThem(t *testing.T) {
	t.Parallel()
	got := common.Grouped([][3]string{
		{"two", "public", "object-store"},
		{"one", "admin", "image"},
		{"one", "public", "image"},
		{"one", "public", "block-storage"},
		{"two", "public", "image"},
		{"one", "admin", "compute"},
		{"one", "public", "compute"},
		{"one", "public", "block-storage"},
	})
	want := [][3]string{
		{"two", "public", "object-store"},
		{"two", "public", "image"},
		{"one", "admin", "image"},
		{"one", "admin", "compute"},
		{"one", "public", "image"},
		{"one", "public", "block-storage"},
		{"one", "public", "compute"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
