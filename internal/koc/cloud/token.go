package cloud

import "time"

// Token is what Keystone said about a token, with the catalogue.
type Token struct {
	ID         string
	Issued     time.Time
	Expires    time.Time
	Methods    []string
	UserID     string
	UserName   string
	UserDomain string // id
	// The scope: a project, a domain, the system, or nothing.
	ProjectID     string
	ProjectName   string
	ProjectDomain string // id
	DomainID      string
	DomainName    string
	System        bool
	TrustID       string
	Roles         []string
	Catalog       []CatalogEntry
	Providers     []ServiceProvider

	late string // why it looks expired though it is new, "" when it does not
}

// CatalogEntry is a service of the catalogue.
type CatalogEntry struct {
	ID        string            `json:"id"`
	Type      string            `json:"type"`
	Name      string            `json:"name"`
	Endpoints []CatalogEndpoint `json:"endpoints"`
}

// CatalogEndpoint is where a service is reached.
type CatalogEndpoint struct {
	ID        string `json:"id"`
	Interface string `json:"interface"`
	Region    string `json:"region"`
	RegionID  string `json:"region_id"`
	URL       string `json:"url"`
}

// ServiceProvider is another cloud that trusts this one.
type ServiceProvider struct {
	ID      string `json:"id"`
	AuthURL string `json:"auth_url"`
	SPURL   string `json:"sp_url"`
}

type named struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain struct {
		ID string `json:"id"`
	} `json:"domain"`
}

// tokenAnswer is a token as Keystone writes it.
type tokenAnswer struct {
	Token struct {
		Issued    time.Time         `json:"issued_at"`
		Expires   time.Time         `json:"expires_at"`
		Methods   []string          `json:"methods"`
		User      named             `json:"user"`
		Project   named             `json:"project"`
		Domain    named             `json:"domain"`
		System    map[string]bool   `json:"system"`
		Trust     named             `json:"OS-TRUST:trust"`
		Roles     []named           `json:"roles"`
		Catalog   []CatalogEntry    `json:"catalog"`
		Providers []ServiceProvider `json:"service_providers"`
	} `json:"token"`
}

func (a tokenAnswer) token(id string) *Token {
	t := a.Token
	made := &Token{
		ID: id, Issued: t.Issued, Expires: t.Expires, Methods: t.Methods,
		UserID: t.User.ID, UserName: t.User.Name, UserDomain: t.User.Domain.ID,
		ProjectID: t.Project.ID, ProjectName: t.Project.Name, ProjectDomain: t.Project.Domain.ID,
		DomainID: t.Domain.ID, DomainName: t.Domain.Name, System: t.System["all"], TrustID: t.Trust.ID,
		Catalog: t.Catalog, Providers: t.Providers,
	}
	for _, r := range t.Roles {
		made.Roles = append(made.Roles, r.Name)
	}
	return made
}
