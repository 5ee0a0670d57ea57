package scrub

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"agenthost/bus/records"
)

// fingerprint is the same for messages that are the same in all that is stored of them.
func fingerprint(rec records.Record) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %d\n", rec.Subject, rec.Time.UnixNano(), len(rec.Data))
	for _, key := range slices.Sorted(maps.Keys(rec.Header)) {
		fmt.Fprintf(h, "%q %q\n", key, rec.Header[key])
	}
	h.Write(rec.Data)
	return hex.EncodeToString(h.Sum(nil))
}
