// Package coap speaks the Constrained Application Protocol: messages (RFC 7252),
// block-wise transfer (RFC 7959) and DTLS 1.2 with pre-shared keys, for the
// reference stacks and for the load driver. It knows no service, no encoding
// and no URL scheme, it does not proxy, cache or discover.
//
// # Parts
//
// Message is the codec: Decode copies nothing and Append writes into the
// caller's buffer, so a reused Message allocates nothing. Exchange is a client
// without clock and socket: it says which datagram to send and when to worry,
// so a driver can put it between two raw system calls. Client is Exchange over
// a net.Conn. Server answers on a UDP socket, or on any datagram connection
// such as a DTLS session, with whole bodies: blocks are taken apart and put
// together inside.
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
// last answers to each (for duplicates), half-finished bodies, DTLS sessions.
// What is idle for EXCHANGE_LIFETIME (247 s) is forgotten. No answer is larger
// than one block, so a forged source address is sent little more than 1 KiB
// (RFC 7252, section 11.3); a smaller BlockSize makes that less.
//
// # Deviations
//
// RFC 7252 knows a duplicate by its sender and message ID. Here the bytes must
// be equal too: a client that makes more than 250 requests a second reuses
// message IDs within EXCHANGE_LIFETIME, and must not be answered from memory.
package coap
