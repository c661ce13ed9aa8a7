// Package coap speaks the Constrained Application Protocol: messages (RFC 7252),
// block-wise transfer (RFC 7959), observation (RFC 7641), TCP (RFC 8323), OSCORE
// (RFC 8613) and DTLS 1.2 with pre-shared keys, for the reference stacks and for
// the load driver. It knows no service, no encoding
// and no URL scheme, it does not proxy, cache or discover.
//
// # Parts
//
// Message is the codec: Decode copies nothing and Append writes into the
// caller's buffer, so a reused Message allocates nothing. ClientExchange is a client
// without clock and socket: it says which datagram to send and when to worry,
// so a driver can put it between two raw system calls. Client is ClientExchange over
// a net.Conn. Server answers on a UDP socket, or on any datagram connection
// such as a DTLS session, with whole bodies: blocks are taken apart and put
// together inside. StreamExchange, StreamClient and Server.ServeStreams are the
// same over TCP. A Security makes a ClientExchange's messages OSCORE's, a Keyring those of a
// Server; Server.Changed and Client.Observe are the two ends of an observation.
//
//	conn, _ := net.ListenUDP("udp", addr)
//	s := &coap.Server{Handler: func(req *coap.Request, resp *coap.Response) {
//		resp.Format = req.Format
//		resp.Body = append(resp.Body, req.Body...)
//	}}
//	err := s.Serve(ctx, conn)
//
//	c, _ := coap.Dial("127.0.0.1:5683")
//	reply, err := c.Do(ctx, &coap.Call{Method: coap.POST, Path: "echo", Body: body})
//
// # What the server keeps, and for how long
//
// Everything a stranger can make the server remember is bounded: peers, the
// last answers to each (for duplicates), half-finished bodies, DTLS sessions, TCP
// connections and what they hold, security contexts, observers.
// What is idle for EXCHANGE_LIFETIME (247 s) is forgotten. No answer is larger
// than one block, so a forged source address is sent little more than 1 KiB
// (RFC 7252, section 11.3); a smaller BlockSize makes that less.
//
// # Deviations
//
// RFC 7252 knows a duplicate by its sender and message ID. Here the bytes must
// be equal too: a client that makes more than 250 requests a second reuses
// message IDs within EXCHANGE_LIFETIME, and must not be answered from memory.
// Other servers do answer from memory: a driver changes its port before it uses
// a message ID again (ClientExchange.MessageIDs).
//
// # Figures and checks
//
// Server and ClientExchange allocate nothing for an exchange, with or without blocks
// (TestServerAllocatesNothing). BenchmarkAgainstLibcoap compares requests per
// second of server processor time with libcoap's; it needs libcoap3-dev and a C
// compiler. The tests named Their need libcoap's programs (libcoap3-bin): they are
// skipped without, and fail without where CI=true. COAP_DATAGRAMS and COAP_SEED
// lengthen and vary TestServerSurvives; FuzzDecode, FuzzExchange and FuzzServer
// run with go test -fuzz.
package coap
