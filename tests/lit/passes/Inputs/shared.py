"""Text of a kernel whose expression doubles at each of N levels: small where parts are shared."""
import sys

sys.setrecursionlimit(10000)


def doubled(k, n):
    return f"(%{k}={doubled(k + 1, n) if k < n else 'exp(b1[i1])'} + %{k})"


print("""cameo.ir/1
<ir_version: 8, opset_import: ["" : 17]>
g (float16[4] x) => (float16[4] y) { y = Relu (x) }
kernels {
  b1 input(0) f16[4] "x"
  b2 output(0) f16[4] "y"
  inputs (b1)
  outputs (b2)
  kernel k0 "double" @1 { par i1 < 4 { b2[i1] = %s } }
}""" % doubled(1, int(sys.argv[1])))
