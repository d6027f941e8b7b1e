import importlib.util
import sys

spec = importlib.util.spec_from_file_location("verify", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

for line in sys.stdin:
    body, signature, secret = (bytes.fromhex(field) for field in line.rstrip("\n").split(" "))
    try:
        print(int(module.verify(body, signature.decode(), [secret.decode()])))
    except ValueError:
        print(0)
