// y = x + 1, n numbers of each.
__global__ void fused_bias(const __half *x, __half *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] + __half(1.0f);
}
