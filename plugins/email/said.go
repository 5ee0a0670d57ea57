package email

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// forwarded is a line that programs put before what was answered.
	forwarded = regexp.MustCompile(`^(-{3,} ?(Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original) ?-{3,}|_{20,})$`)
	// forwards begins the subject of a mail that was forwarded.
	forwards = regexp.MustCompile(`(?i)^(fwd?|wg|tr|rv|i|enc|vs|vb|doorst) ?:`)
	// attribution begins the line before a quote.
	attribution = regexp.MustCompile(`^(On|Am|Le|El|Il|Em|Op|Den) `)
	// sender and sent are the first lines of the header that Outlook puts before what was
	// answered, without a line that sets it off; about is one of those below.
	sender = regexp.MustCompile(`^(From|Von|De|Da|Van|Från|Fra) ?: ?\S`)
	sent   = regexp.MustCompile(`^(Sent|Date|Gesendet|Datum|Envoyé|Enviado( el)?|Enviada em|Inviato|Data|Verzonden|Skickat|Sendt) ?: ?\S`)
	about  = regexp.MustCompile(`^(Subject|Betreff|Objet|Asunto|Assunto|Oggetto|Onderwerp|Ämne|Emne) ?:`)
	// device is the line that phones and their programs put below what was written.
	device = regexp.MustCompile(`^(Sent|Get|Von|Gesendet|Holen|Outlook|Envoyé|Télécharger|Enviado|Obtener|Obter|Inviato|Verzonden|Skickat|Sendt) .*\b` +
		`(iPhone|iPad|Android|iOS|Galaxy|Samsung|Huawei|Xiaomi|Pixel|BlackBerry|Outlook|Yahoo Mail|Proton Mail|Gmail|Mail for Windows|mobile|Mobiltelefon|Handy|Smartphone)\b`)
)

const (
	longestDevice = 100 // bytes
	longestHeader = 10  // lines
)

// said is what the sender has written: without what an answer repeats, and without the
// signature. What is forwarded is meant to be read.
func (r *reading) said(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	lines := strings.Split(text, "\n")
	switch {
	case forwards.MatchString(r.origin.subject):
		return text
	case len(r.replied()) > 0:
		lines = withoutHistory(lines)
	}
	if rest := strings.TrimSpace(strings.Join(r.shortAnswer(withoutSignature(lines)), "\n")); rest != "" {
		return rest
	}
	return text // all of it is a quote, or a signature
}

// withoutSignature ends where a signature begins, also that of a phone.
func withoutSignature(lines []string) []string {
	if i := slices.Index(lines, "-- "); i >= 0 {
		lines = lines[:i]
	}
	lines = withoutEmpty(lines)
	last := len(lines) - 1
	if last > 0 && len(lines[last]) <= longestDevice && device.MatchString(lines[last]) && strings.TrimSpace(lines[last-1]) == "" {
		return lines[:last]
	}
	return lines
}

// withoutHistory ends where the repetition of what is answered begins, as a quote or below a
// header. Quotes with answers in between stay.
func withoutHistory(lines []string) []string {
	for i := range lines {
		if lines[i] == "-- " || forwarded.MatchString(strings.TrimSpace(lines[i])) || isHeader(lines[i:]) {
			lines = lines[:i]
			break
		}
	}
	end, quoted := len(lines), false
	for end > 0 && (strings.TrimSpace(lines[end-1]) == "" || strings.HasPrefix(lines[end-1], ">")) {
		quoted = quoted || strings.HasPrefix(lines[end-1], ">")
		end--
	}
	if quoted && end > 0 && endsInColon(lines[end-1]) {
		end--
		// It was broken in two.
		if end > 0 && !attribution.MatchString(lines[end]) && (attribution.MatchString(lines[end-1]) || strings.HasPrefix(lines[end], "<")) {
			end--
		}
	}
	return lines[:end]
}

func endsInColon(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasSuffix(line, ":") || strings.HasSuffix(line, "：")
}

// isHeader reports whether lines begin with the header of a mail: sender, date, and not far below
// its subject. A person may write of a sender, or a journey, and a date.
func isHeader(lines []string) bool {
	return len(lines) > 2 && sender.MatchString(lines[0]) && sent.MatchString(lines[1]) &&
		slices.ContainsFunc(lines[2:min(len(lines), longestHeader)], about.MatchString)
}

func withoutEmpty(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
