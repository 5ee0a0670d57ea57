package llm

import "time"

// An Attempt is one call of one link, or the reason why it was passed over.
type Attempt struct {
	Entry    string // the model's name in the configuration, if its gate has one
	Provider string
	Model    string
	Number   int  // of this link, from 1; 0: it was not asked
	Skipped  Skip // why it was not asked
	Usage    Usage
	Cost     int64 // in micro-cents; of a failed attempt too, if it reports usage
	Priced   bool  // the price is known
	Took     time.Duration
	Err      error   // nil when the model finished or was not asked, else an *Error
	Breaker  []State // what the breaker has become by this attempt, mostly nothing
}

// Code is the code of Err, empty when there is none.
func (a Attempt) Code() Code {
	if a.Err == nil {
		return ""
	}
	return AsError(a.Err).Code
}

// Status is the HTTP status that the attempt failed by, 0 if it did not.
func (a Attempt) Status() int {
	if a.Err == nil {
		return 0
	}
	return AsError(a.Err).Status
}

// Reason is in words why the attempt failed or was not made, empty when the model
// finished.
func (a Attempt) Reason() string {
	switch {
	case a.Skipped != "":
		return a.Skipped.fault().Error()
	case a.Err != nil && AsError(a.Err).Err != nil:
		return AsError(a.Err).Err.Error()
	}
	return ""
}
