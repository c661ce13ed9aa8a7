package service

import "strconv"

// MaxHundredths bounds every decimal: k/100 with |k| up to it survives an IEEE
// 754 double and back. The two roundings on the way move k by at most
// 2·10¹⁵/2⁵³ < 0.23.
const MaxHundredths = 1_000_000_000_000_000

// AppendHundredths appends k/100 with two decimal places: -5 is "-0.05".
func AppendHundredths(dst []byte, k int64) []byte {
	u := uint64(k)
	if k < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/100, 10)
	r := u % 100
	return append(dst, '.', byte('0'+r/10), byte('0'+r%10))
}

// hundredths is for error texts.
func hundredths(k int64) string { return string(AppendHundredths(nil, k)) }
