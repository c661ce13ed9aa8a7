package dpws

// Namespaces.
const (
	soapSpace     = "http://www.w3.org/2003/05/soap-envelope"
	wsaSpace      = "http://www.w3.org/2005/08/addressing"
	wsdSpace      = "http://docs.oasis-open.org/ws-dd/ns/discovery/2009/01"
	dpwsSpace     = "http://docs.oasis-open.org/ws-dd/ns/dpws/2009/01"
	transferSpace = "http://schemas.xmlsoap.org/ws/2004/09/transfer"
	mexSpace      = "http://schemas.xmlsoap.org/ws/2004/09/mex"
	eventingSpace = "http://schemas.xmlsoap.org/ws/2004/08/eventing"
	wsdlSpace     = "http://schemas.xmlsoap.org/wsdl/"
)

// Actions, and addresses that are none.
const (
	actionHello          = wsdSpace + "/Hello"
	actionBye            = wsdSpace + "/Bye"
	actionProbe          = wsdSpace + "/Probe"
	actionProbeMatches   = wsdSpace + "/ProbeMatches"
	actionResolve        = wsdSpace + "/Resolve"
	actionResolveMatches = wsdSpace + "/ResolveMatches"
	actionGet            = transferSpace + "/Get"
	actionGetResponse    = transferSpace + "/GetResponse"
	actionMetadata       = mexSpace + "/GetMetadata/Request"
	actionMetadataReply  = mexSpace + "/GetMetadata/Response"
	actionSubscribe      = eventingSpace + "/Subscribe"
	actionRenew          = eventingSpace + "/Renew"
	actionGetStatus      = eventingSpace + "/GetStatus"
	actionUnsubscribe    = eventingSpace + "/Unsubscribe"
	actionEnd            = eventingSpace + "/SubscriptionEnd"
	actionFault          = wsaSpace + "/fault"

	// Anonymous means: answer on the connection that the request came by.
	Anonymous = wsaSpace + "/anonymous"
	// Space is the namespace of DPWS itself.
	Space = dpwsSpace

	toDiscovery = "urn:docs-oasis-open-org:ws-dd:ns:discovery:2009:01"
)

// Limits of DPWS 1.1, appendix B, and our own.
const (
	MaxEnvelope    = 32767 // B, MAX_ENVELOPE_SIZE: descriptions, over HTTP
	MaxUDPEnvelope = 4096  // B, MAX_UDP_ENVELOPE_SIZE: any datagram
	maxURI         = 2048  // characters, MAX_URI_SIZE
	maxList        = 64    // types, scopes or addresses of one target
)

// A QName is a name in a namespace.
type QName struct{ Space, Local string }

// deviceType is what every DPWS device is (DPWS 1.1, R1020).
var deviceType = QName{dpwsSpace, "Device"}
