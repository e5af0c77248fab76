# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens a wrong file in a language server, mends it, and asks for a definition.

usage: lsp_client.py <server>
"""
import json
import subprocess
import sys

WRONG = """func.func @f(%x: memref<4xf32>, %y: memref<4xi32>) {
  gpu_async.memcpy %x, %y : memref<4xf32>, memref<4xi32>
  return
}
"""
URI = "test:///wrong.mlir"
server = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def send(method, params, number=None):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    body = json.dumps(message).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()


def receive(wanted):
    """The next message that `wanted` takes."""
    while True:
        length = None
        while (line := server.stdout.readline().strip()):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if length is None:
            sys.exit("the server ended")
        message = json.loads(server.stdout.read(length))
        if wanted(message):
            return message


def diagnostics():
    return receive(lambda m: m.get("method") == "textDocument/publishDiagnostics")["params"]["diagnostics"]


send("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 0)
receive(lambda m: m.get("id") == 0)
send("initialized", {})
send("textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "mlir", "version": 1, "text": WRONG}})
for found in diagnostics():
    start = found["range"]["start"]
    kind = {1: "error", 2: "warning"}.get(found["severity"], "note")
    print("wrong.mlir: line %d column %d: %s: %s" % (start["line"] + 1, start["character"] + 1, kind, found["message"]))
mended = WRONG.replace("i32", "f32")
send("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": mended}]})
print("mended: %d diagnostics" % len(diagnostics()))
column = mended.splitlines()[1].index("%y")
send("textDocument/definition", {"textDocument": {"uri": URI}, "position": {"line": 1, "character": column}}, 1)
print("definition of %%y: line %d" % (receive(lambda m: m.get("id") == 1)["result"][0]["range"]["start"]["line"] + 1))
send("shutdown", None, 2)
receive(lambda m: m.get("id") == 2)
send("exit", None)
print("exit code %d" % server.wait())
