package conform

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/service/codec"
)

// A forgery is a message with WS-Security, right by default and wrong where
// asked. Every signed element is written in the form that Exclusive XML
// Canonicalization gives it, with its own namespaces, so that its bytes here are
// the bytes to digest.
type forgery struct {
	enc         codec.Encoding
	level       string // the security: wss-username, wss-hmac, wss-rsa or wss-rsa-encrypt
	credentials map[string]string
	body        string // what the SOAP body holds, canonical

	password        string        // of the token; empty: the right one
	clear           bool          // password in clear
	age             time.Duration // since it was made; it lives five minutes
	noTimestamp     bool
	noHeader        bool
	signer          map[string]string // whose certificate and key sign; nil: credentials
	algorithm       string            // of the signature; empty: the level's
	sha1            bool              // digests by SHA-1
	bare, bareStamp bool              // the body, the Timestamp unsigned
	wrapped         string            // what stands where the body was; the signed one hides in the header
	altered         string            // replaces the body once it is signed
	open            bool              // not encrypted
	spoiled         bool              // a byte of the cipher text changed
}

const (
	nsWSU   = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
	nsWSSE  = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	nsDS    = "http://www.w3.org/2000/09/xmldsig#"
	nsXENC  = "http://www.w3.org/2001/04/xmlenc#"
	excC14N = "http://www.w3.org/2001/10/xml-exc-c14n#"

	algRSA     = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
	algRSASHA1 = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
	algHMAC    = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"

	tokenProfile = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#"
	x509Profile  = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#"
	base64Binary = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary"
)

// bytes makes the message.
func (f forgery) bytes() ([]byte, error) {
	soap := f.enc.EnvelopeNamespace()
	id := rand.Text()
	element := func(inner string) string {
		return fmt.Sprintf(`<s:Body xmlns:s="%s" xmlns:wsu="%s" wsu:Id="B%s">%s</s:Body>`, soap, nsWSU, id, inner)
	}
	made := time.Now().Add(-f.age).UTC()
	stamp := fmt.Sprintf(`<wsu:Timestamp xmlns:wsu="%s" wsu:Id="T%s"><wsu:Created>%s</wsu:Created><wsu:Expires>%s`+
		`</wsu:Expires></wsu:Timestamp>`,
		nsWSU, id, made.Format(xsdTime), made.Add(5*time.Minute).Format(xsdTime))
	body := element(f.body)
	var head, token, signature, key string
	var err error
	if !f.noTimestamp {
		head = stamp
	}
	if f.level == "wss-username" || f.level == "wss-hmac" {
		head += f.usernameToken(made)
	}
	if f.level != "wss-username" {
		var refs []reference
		if !f.bareStamp && !f.noTimestamp {
			refs = append(refs, reference{"T" + id, stamp})
		}
		if !f.bare {
			refs = append(refs, reference{"B" + id, body})
		}
		if token, signature, err = f.sign(id, refs); err != nil {
			return nil, err
		}
	}
	inner := f.body
	if f.altered != "" {
		inner = f.altered
	}
	if f.level == "wss-rsa-encrypt" && !f.open {
		if key, inner, err = f.encrypt(id, inner); err != nil {
			return nil, err
		}
	}
	hidden := ""
	switch {
	case f.wrapped != "":
		hidden = `<w:Wrapper xmlns:w="urn:wrapper">` + element(inner) + `</w:Wrapper>`
		body = fmt.Sprintf(`<s:Body xmlns:s="%s" xmlns:wsu="%s" wsu:Id="C%s">%s</s:Body>`, soap, nsWSU, id, f.wrapped)
	default:
		body = element(inner)
	}
	// A receiver decrypts before it verifies: what came first stands last.
	header := fmt.Sprintf(`<s:Header>%s<wsse:Security xmlns:wsse="%s" s:mustUnderstand="1">%s%s%s%s</wsse:Security>`+
		`</s:Header>`, hidden, nsWSSE, head, token, key, signature)
	if f.noHeader {
		header = ""
	}
	return []byte(fmt.Sprintf(`<s:Envelope xmlns:s="%s">%s%s</s:Envelope>`, soap, header, body)), nil
}

const xsdTime = "2006-01-02T15:04:05.000Z"

// usernameToken is a password's digest with a nonce (UsernameToken Profile 1.0, section 3.1).
func (f forgery) usernameToken(made time.Time) string {
	password := f.password
	if password == "" {
		password = f.credentials["password"]
	}
	nonce := make([]byte, 16)
	rand.Read(nonce)
	created := made.Format(xsdTime)
	sum := sha1.Sum([]byte(string(nonce) + created + password))
	kind, value := "PasswordDigest", base64.StdEncoding.EncodeToString(sum[:])
	if f.clear {
		kind, value = "PasswordText", password
	}
	return fmt.Sprintf(`<wsse:UsernameToken xmlns:wsu="%s" wsu:Id="U%s"><wsse:Username>%s</wsse:Username>`+
		`<wsse:Password Type="%s%s">%s</wsse:Password>`+
		`<wsse:Nonce EncodingType="%s">%s</wsse:Nonce><wsu:Created>%s</wsu:Created></wsse:UsernameToken>`, nsWSU, rand.Text(),
		f.credentials["user"], tokenProfile, kind, value,
		base64Binary, base64.StdEncoding.EncodeToString(nonce), created)
}

// A reference names an element to sign, in canonical form.
type reference struct{ id, element string }

// sign makes the signature and the token that holds the signer's certificate.
func (f forgery) sign(id string, refs []reference) (token, signature string, err error) {
	algorithm := f.algorithm
	switch {
	case algorithm != "":
	case f.level == "wss-hmac":
		algorithm = algHMAC
	default:
		algorithm = algRSA
	}
	digest, h := nsXENC+"sha256", sha256.New
	if f.sha1 {
		digest, h = nsDS+"sha1", sha1.New
	}
	var info strings.Builder
	fmt.Fprintf(&info,
		`<ds:SignedInfo xmlns:ds="%s"><ds:CanonicalizationMethod Algorithm="%s"></ds:CanonicalizationMethod>`+
			`<ds:SignatureMethod Algorithm="%s"></ds:SignatureMethod>`,
		nsDS, excC14N, algorithm)
	for _, r := range refs {
		fmt.Fprintf(&info,
			`<ds:Reference URI="#%s"><ds:Transforms><ds:Transform Algorithm="%s"></ds:Transform></ds:Transforms>`+
				`<ds:DigestMethod Algorithm="%s"></ds:DigestMethod>`+
				`<ds:DigestValue>%s</ds:DigestValue></ds:Reference>`, r.id, excC14N, digest, sum(h, r.element))
	}
	info.WriteString(`</ds:SignedInfo>`)
	signer := f.signer
	if signer == nil {
		signer = f.credentials
	}
	pair, err := tls.LoadX509KeyPair(signer["client_rsa_cert"], signer["client_rsa_key"])
	if err != nil {
		return "", "", err
	}
	var value []byte
	switch algorithm {
	case algHMAC: // by the secret if there is one, else by what everyone can read: the public key
		key, err := hex.DecodeString(f.credentials["psk"])
		if f.level != "wss-hmac" {
			key, err = x509.MarshalPKIXPublicKey(pair.PrivateKey.(*rsa.PrivateKey).Public())
		}
		if err != nil {
			return "", "", err
		}
		m := hmac.New(sha256.New, key)
		m.Write([]byte(info.String()))
		value = m.Sum(nil)
	case algRSASHA1:
		d := sha1.Sum([]byte(info.String()))
		value, err = rsa.SignPKCS1v15(nil, pair.PrivateKey.(*rsa.PrivateKey), crypto.SHA1, d[:])
	default:
		d := sha256.Sum256([]byte(info.String()))
		value, err = rsa.SignPKCS1v15(nil, pair.PrivateKey.(*rsa.PrivateKey), crypto.SHA256, d[:])
	}
	if err != nil {
		return "", "", err
	}
	named := ""
	if f.level != "wss-hmac" {
		token = fmt.Sprintf(`<wsse:BinarySecurityToken xmlns:wsu="%s" EncodingType="%s" ValueType="%sX509v3" `+
			`wsu:Id="X%s">%s</wsse:BinarySecurityToken>`,
			nsWSU, base64Binary, x509Profile, id, base64.StdEncoding.EncodeToString(pair.Certificate[0]))
		named = fmt.Sprintf(`<ds:KeyInfo><wsse:SecurityTokenReference><wsse:Reference URI="#X%s" ValueType="%sX509v3"/>`+
			`</wsse:SecurityTokenReference></ds:KeyInfo>`, id, x509Profile)
	}
	return token, fmt.Sprintf(`<ds:Signature xmlns:ds="%s">%s<ds:SignatureValue>%s</ds:SignatureValue>%s</ds:Signature>`,
		nsDS, info.String(), base64.StdEncoding.EncodeToString(value), named), nil
}

func sum(h func() hash.Hash, text string) string {
	d := h()
	d.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(d.Sum(nil))
}

// encrypt gives the encrypted key and the encrypted content, for the server's
// certificate: AES-128-GCM and RSA-OAEP (XML Encryption 1.1, sections 5.2.4 and 5.5.2).
func (f forgery) encrypt(id, plain string) (key, content string, err error) {
	pair, err := os.ReadFile(f.credentials["rsa_cert"])
	if err != nil {
		return "", "", err
	}
	cert, err := parsePEM(pair)
	if err != nil {
		return "", "", err
	}
	secret := make([]byte, 16)
	rand.Read(secret)
	block, err := aes.NewCipher(secret)
	if err != nil {
		return "", "", err
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return "", "", err
	}
	sealed := gcm.Seal(nil, nil, []byte(plain), nil)
	if f.spoiled {
		sealed[len(sealed)/2] ^= 1
	}
	wrapped, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, cert.PublicKey.(*rsa.PublicKey), secret, nil)
	if err != nil {
		return "", "", err
	}
	key = fmt.Sprintf(`<xenc:EncryptedKey xmlns:xenc="%s" Id="K%s"><xenc:EncryptionMethod `+
		`Algorithm="%srsa-oaep-mgf1p"/><ds:KeyInfo xmlns:ds="%s"><wsse:SecurityTokenReference>`+
		`<ds:X509Data><ds:X509IssuerSerial><ds:X509IssuerName>%s</ds:X509IssuerName><ds:X509SerialNumber>%s`+
		`</ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data>`+
		`</wsse:SecurityTokenReference></ds:KeyInfo><xenc:CipherData><xenc:CipherValue>%s</xenc:CipherValue>`+
		`</xenc:CipherData>`+
		`<xenc:ReferenceList><xenc:DataReference URI="#D%s"/></xenc:ReferenceList></xenc:EncryptedKey>`,
		nsXENC, id, nsXENC, nsDS, cert.Issuer, cert.SerialNumber, base64.StdEncoding.EncodeToString(wrapped), id)
	content = fmt.Sprintf(`<xenc:EncryptedData xmlns:xenc="%s" Id="D%s" Type="%sContent"><xenc:EncryptionMethod `+
		`Algorithm="http://www.w3.org/2009/xmlenc11#aes128-gcm"/>`+
		`<ds:KeyInfo xmlns:ds="%s"><wsse:SecurityTokenReference xmlns:wsse="%s" `+
		`xmlns:wsse11="http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd" `+
		`wsse11:TokenType="http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#EncryptedKey">`+
		`<wsse:Reference URI="#K%s"/></wsse:SecurityTokenReference></ds:KeyInfo>`+
		`<xenc:CipherData><xenc:CipherValue>%s</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>`,
		nsXENC, id, nsXENC, nsDS, nsWSSE, id, base64.StdEncoding.EncodeToString(sealed))
	return key, content, nil
}
