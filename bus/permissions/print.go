package permissions

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Claims are the part of a user JWT that says what is allowed.
type Claims struct {
	Publish   SubjectClaims `json:"pub"`
	Subscribe SubjectClaims `json:"sub"`
	Replies   *ReplyClaims  `json:"resp,omitempty"`
}

// SubjectClaims are the subjects that are allowed.
type SubjectClaims struct {
	Allow []string `json:"allow"`
}

// ReplyClaims say how many answers a request may have, and for how long.
type ReplyClaims struct {
	Max int           `json:"max"`
	TTL time.Duration `json:"ttl"`
}

// replyWithin is what a host may take to answer a request, such as a reload.
const replyWithin = 2 * time.Minute

// Claims are those of the role.
func (r Role) Claims() Claims {
	c := Claims{Publish: SubjectClaims{r.Publish}, Subscribe: SubjectClaims{r.Subscribe}}
	if r.Replies {
		c.Replies = &ReplyClaims{1, replyWithin}
	}
	return c
}

// String is the block permissions of a user in the configuration of nats-server.
func (r Role) String() string {
	b := strings.Builder{}
	fmt.Fprintf(&b, "# %s; inbox prefix %s\n", r.Name, r.InboxPrefix)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "# %s\n", note)
	}
	fmt.Fprintln(&b, "permissions {")
	writeSubjects(&b, "publish", r.Publish)
	writeSubjects(&b, "subscribe", r.Subscribe)
	if r.Replies {
		fmt.Fprintln(&b, `  allow_responses: {max: 1, expires: "2m"}`)
	}
	fmt.Fprintln(&b, "}")
	return b.String()
}

func writeSubjects(b *strings.Builder, what string, subjects []string) {
	fmt.Fprintf(b, "  %s: [\n", what)
	for _, s := range subjects {
		quoted, _ := json.Marshal(s) // strings always can be
		fmt.Fprintf(b, "    %s\n", strings.ReplaceAll(string(quoted), `\u003e`, ">"))
	}
	fmt.Fprintln(b, "  ]")
}
