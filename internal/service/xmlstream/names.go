package xmlstream

import "bytes"

// Names reads the character data of the element just started as a list of
// qualified names (xs:QName), up to and including its end tag. As XML Schema has
// it, part 2, section 3.2.18, a name without prefix is in the default namespace.
func (p *Parser) Names() ([]Name, error) {
	inside := len(p.scopes)
	content, err := p.Content()
	if err != nil {
		return nil, err
	}
	// Subtle: Content has closed the element, but its declarations lie behind
	// the open ones until the next tag is read.
	outside := p.scopes
	p.scopes = p.scopes[:inside]
	defer func() { p.scopes = outside }()
	var names []Name
	for _, raw := range bytes.FieldsFunc(content, func(c rune) bool { return c < 0x80 && class[c]&spaceByte != 0 }) {
		n := p.resolve(raw, bytes.IndexByte(raw, ':'), p.i)
		if p.err != nil {
			return nil, p.err
		}
		names = append(names, n)
	}
	return names, nil
}
