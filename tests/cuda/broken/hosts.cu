// The kernels of the host programs in this folder, which are broken, not these.
extern "C" __global__ void plus_one(const int *x, int *y, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) y[i] = x[i] + 1;
}

extern "C" __global__ void twice(const int *__restrict__ x, int *__restrict__ y, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) y[i] = 2 * x[i];
}
