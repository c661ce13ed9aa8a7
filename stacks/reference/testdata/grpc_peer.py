"""gRPC by grpcio from stacks/contract/grpc.proto, to check ours against.

grpc_peer.py GENERATED serve        serves monitor and concat, prints its port, ends with its stdin
grpc_peer.py GENERATED call PORT    calls both, and what must fail
"""
import sys
from concurrent import futures

sys.path.insert(0, sys.argv[1])
import grpc  # noqa: E402
import grpc_pb2_grpc  # noqa: E402
import services_pb2 as pb  # noqa: E402


class Lab(grpc_pb2_grpc.LabServicer):
    def monitor(self, request, context):
        if request.sequence < 0:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "negative, and that's that")
        return pb.MonitorResponse(accepted=True, sequence=request.sequence)

    def concat(self, request, context):
        return pb.ConcatResponse(text="".join(request.s))


def serve():
    server = grpc.server(futures.ThreadPoolExecutor(2))
    grpc_pb2_grpc.add_LabServicer_to_server(Lab(), server)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(0)


def call(port):
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        lab = grpc_pb2_grpc.LabStub(channel)
        for n in range(20):
            answer = lab.monitor(pb.Monitor(id="a", status=1, sequence=n, temperature=20.5, pressure=1000.0, running=True, message="m"))
            assert answer.accepted and answer.sequence == n, answer
        try:
            lab.concat(pb.Concat(s=["a"]))  # served under another name only
        except grpc.RpcError as e:
            assert e.code() == grpc.StatusCode.UNIMPLEMENTED, e
        else:
            raise AssertionError("an unknown method answered")
        raw = channel.unary_unary("/edgegauge.Lab/monitor")
        try:
            raw(b"\xff\xff\xff")
        except grpc.RpcError as e:
            assert e.code() == grpc.StatusCode.INVALID_ARGUMENT and e.details(), e
        else:
            raise AssertionError("garbage was taken")
    print("ok")


serve() if sys.argv[2] == "serve" else call(sys.argv[3])
