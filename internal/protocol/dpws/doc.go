// Package dpws speaks the Devices Profile for Web Services 1.1 (OASIS, 2009):
// discovery (WS-Discovery 1.1 over SOAP-over-UDP 1.1), description (WS-Transfer
// Get, WS-MetadataExchange, WSDL) and events (WS-Eventing 2004), for devices and
// for clients. Invoking a service is SOAP 1.2 with WS-Addressing headers over
// HTTP: Header is what the two need to put into and read from their envelopes.
// It knows none of the services, does no security and uses no discovery proxy.
//
// # Parts
//
// Description is a device in words. Answerer turns a datagram into the answer
// it deserves, Search collects the answers to a Probe or a Resolve: both without
// clock and socket. Device and Find are the same over a Network, which Join makes
// of one interface's multicast groups. Pages serves the description over HTTP, Fetch
// reads it. Subscriptions keeps an event source's subscribers.
//
// # What identifies a device
//
// A device is known by its endpoint reference, urn:uuid:…; an address on the
// network is only the answer to the question where it is now.
//
// # What is kept, and for how long
//
// Everything a stranger can make a device or a client remember is bounded:
// message IDs seen (a ring), answers waiting for their random delay, matches,
// subscriptions. What is beyond a bound is dropped and counted.
package dpws
