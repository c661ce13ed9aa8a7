"""An independent CoAP peer (aiocoap): serve ADDRESS PORT CONTEXT | ask URL CONTEXT BYTES | observe URL COUNT.

CONTEXT is a folder with an OSCORE context, or "-". What ask and observe receive goes to standard output.
"""
import asyncio
import sys

import aiocoap
import aiocoap.resource
from aiocoap import Code, Message
from aiocoap.oscore_sitewrapper import OscoreSiteWrapper


class Echo(aiocoap.resource.Resource):
    async def render_post(self, request):
        return Message(code=Code.CHANGED, payload=request.payload)


class Clock(aiocoap.resource.ObservableResource):
    n = 0

    async def tick(self):
        while True:
            await asyncio.sleep(0.2)
            self.n += 1
            self.updated_state()

    async def render_get(self, request):
        return Message(payload=str(self.n).encode())


async def serve(host, port, context):
    site = aiocoap.resource.Site()
    clock = Clock()
    site.add_resource(["echo"], Echo())
    site.add_resource(["clock"], clock)
    server = await aiocoap.Context.create_server_context(site, bind=(host, int(port)), transports=["oscore", "tcpserver", "udp6"])
    if context != "-":
        server.server_credentials.load_from_dict({":client": {"oscore": {"basedir": context}}})
        server.serversite = OscoreSiteWrapper(site, server.server_credentials)
    print("ready", flush=True)
    await clock.tick()


async def client(url, context):
    c = await aiocoap.Context.create_client_context(transports=["oscore", "tcpclient", "udp6"])
    if context != "-":
        c.client_credentials.load_from_dict({url.rsplit("/", 1)[0] + "/*": {"oscore": {"basedir": context}}})
    return c


async def ask(url, context, n):
    c = await client(url, context)
    body = bytes(i * 7 % 251 for i in range(int(n)))
    r = await c.request(Message(code=Code.POST, uri=url, payload=body)).response
    print(r.code, len(r.payload), r.payload == body)
    await c.shutdown()


async def observe(url, count):
    c = await client(url, "-")
    r = c.request(Message(code=Code.GET, uri=url, observe=0))
    print((await r.response).payload.decode(), flush=True)
    n = 1
    async for state in r.observation:
        print(state.payload.decode(), flush=True)
        n += 1
        if n >= int(count):
            break
    r.observation.cancel()
    await c.shutdown()


asyncio.run({"serve": serve, "ask": ask, "observe": observe}[sys.argv[1]](*sys.argv[2:]))
