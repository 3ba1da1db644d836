package sweep

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Finding is a resource that was found.
type Finding struct {
	Kind    string
	Region  string
	ID      string
	Cluster string
	// Orphan is what is older than the least age, or past the end it was made with.
	Orphan bool
	// Unknown is what could be an orphan as well as part of a run: nothing tells how
	// old it is.
	Unknown bool

	created, expires *time.Time
	age              int // hours, when created is known
}

// Report is what a scan has found.
type Report struct {
	Account  string
	Scanned  time.Time
	MinAge   int // hours
	Findings []Finding
	Errors   []string
}

// judge decides what is an orphan.
func (r *Report) judge() {
	least := time.Duration(r.MinAge) * time.Hour
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case f.created != nil:
			age := r.Scanned.Sub(*f.created)
			f.age = int(age / time.Hour)
			f.Orphan = age > least
		case f.expires != nil:
			f.Orphan = r.Scanned.After(*f.expires)
		default:
			f.Unknown = true
		}
	}
}

func (r *Report) count() (orphans, recent, unknown int) {
	for _, f := range r.Findings {
		switch {
		case f.Orphan:
			orphans++
		case f.Unknown:
			unknown++
		default:
			recent++
		}
	}
	return orphans, recent, unknown
}

// Markdown is the report for people.
func (r *Report) Markdown() string {
	var b strings.Builder
	account := r.Account
	if account == "" {
		account = "unknown"
	}
	fmt.Fprintf(&b, "# AWS e2e Orphan Report\n\n**Account**: %s\n**Scanned**: %s UTC\n**Min Age**: %d hours\n\n",
		account, r.Scanned.UTC().Format(time.DateTime), r.MinAge)
	orphans, recent, unknown := r.count()
	switch {
	case len(r.Findings) == 0 && len(r.Errors) == 0:
		b.WriteString("**No resources found.**\n\n")
	case orphans > 0:
		fmt.Fprintf(&b, "**Orphans found: %d** (Recent: %d)\n\n", orphans, recent)
		r.table(&b, func(f Finding) bool { return f.Orphan })
	case unknown > 0:
		fmt.Fprintf(&b, "**No orphans found** (Recent: %d)\n\n", recent)
	case recent > 0:
		fmt.Fprintf(&b, "**All resources are recent** (no orphans, %d resources < %d hours old)\n\n", recent, r.MinAge)
	}
	if unknown > 0 {
		fmt.Fprintf(&b, "**Unknown age: %d** (neither orphans nor recent: nothing tells when they were made)\n\n", unknown)
		r.table(&b, func(f Finding) bool { return f.Unknown })
	}
	if len(r.Errors) > 0 {
		b.WriteString("## Errors\n\n")
		for _, e := range r.Errors {
			b.WriteString("- " + strings.Join(strings.Fields(e), " ") + "\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("## Remediation\n\nRun teardown to remove orphaned resources:\n\n```\nAWS_ONLY=1 mise run teardown aws\n```\n\n" +
		"**Note**: IAM roles/users and CloudFormation stacks are not scanned\n")
	return b.String()
}

func (r *Report) table(b *strings.Builder, keep func(Finding) bool) {
	b.WriteString("| Kind | Region | ID | Cluster | Age (h) | Status |\n|---|---|---|---|---|---|\n")
	for _, f := range r.Findings {
		if !keep(f) {
			continue
		}
		age, status := "-", "Unknown"
		switch {
		case f.created != nil:
			age, status = strconv.Itoa(f.age), fmt.Sprintf("%dh old", f.age)
		case f.expires != nil:
			status = "Expired"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", f.Kind, f.Region, f.ID, f.Cluster, age, status)
	}
	b.WriteString("\n")
}

// findingJSON and reportJSON have their keys in the order of the alphabet.
type findingJSON struct {
	Age     *int   `json:"age_hours"`
	Cluster string `json:"cluster"`
	Created *int64 `json:"created_at"`
	ID      string `json:"id"`
	Orphan  bool   `json:"is_orphan"`
	Kind    string `json:"kind"`
	Region  string `json:"region"`
}

type reportJSON struct {
	Account  string        `json:"account_id"`
	Errors   []string      `json:"errors"`
	Findings []findingJSON `json:"findings"`
	MinAge   int           `json:"min_age_hours"`
	Orphans  int           `json:"orphan_count"`
	Recent   int           `json:"recent_count"`
	Scanned  int64         `json:"scanned_at"`
	Unknown  int           `json:"unknown_age_count"`
}

// JSON is the report for programs.
func (r *Report) JSON() ([]byte, error) {
	shown := reportJSON{Account: r.Account, Errors: []string{}, Findings: []findingJSON{}, MinAge: r.MinAge, Scanned: r.Scanned.Unix()}
	shown.Orphans, shown.Recent, shown.Unknown = r.count()
	shown.Errors = append(shown.Errors, r.Errors...)
	for _, f := range r.Findings {
		one := findingJSON{Cluster: f.Cluster, ID: f.ID, Orphan: f.Orphan, Kind: f.Kind, Region: f.Region}
		if f.created != nil {
			seconds, age := f.created.Unix(), f.age
			one.Created, one.Age = &seconds, &age
		}
		shown.Findings = append(shown.Findings, one)
	}
	text, err := json.MarshalIndent(shown, "", "  ")
	return append(text, '\n'), err
}
