/* A driver for tests: libcuda's C interface over host memory. ENVCHECK_FAULT names what goes wrong. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <math.h>

#define API __attribute__((visibility("default"))) int
static const char *fault(void) { const char *f = getenv("ENVCHECK_FAULT"); return f ? f : ""; }
static int is(const char *name) { return strcmp(fault(), name) == 0; }
static int code(const char *prefix) { size_t n = strlen(prefix); return strncmp(fault(), prefix, n) ? 0 : atoi(fault() + n); }

API cuDriverGetVersion(int *v) { *v = 12080; return 0; }
API cuInit(unsigned flags) {
  if (is("hang")) sleep(600);
  if (is("crash")) { *(volatile int *)0 = 1; }
  return flags ? 1 : code("init=");
}
API cuDeviceGetCount(int *n) { *n = is("none") ? 0 : 2; return 0; }
API cuDeviceGet(int *d, int i) { *d = i + 40; return 0; }
API cuDeviceGetName(char *s, int n, int d) { strncpy(s, d >= 40 ? "NVIDIA Test" : "wrong handle", n); return 0; }
API cuDeviceTotalMem_v2(size_t *n, int d) { (void)d; *n = (size_t)8 << 30; return 0; }
API cuDeviceGetAttribute(int *v, int a, int d) {
  (void)d;
  if (a == 36) return 1; /* newer drivers no longer tell the memory clock */
  *v = a == 75 ? 8 : a == 76 ? 9 : a;
  return 0;
}
API cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)(intptr_t)(d + 1000); return code("context="); }
API cuDevicePrimaryCtxRelease_v2(int d) { return d < 40; }
API cuCtxSetCurrent(void *c) { return (intptr_t)c < 1040; }
API cuCtxSynchronize(void) { return code("sync="); }
API cuMemGetInfo_v2(size_t *f, size_t *t) { *f = (size_t)7 << 30; *t = (size_t)8 << 30; return 0; }
API cuMemAlloc_v2(uint64_t *p, size_t n) { if (is("full")) return 2; *p = (uint64_t)(uintptr_t)malloc(n); return 0; }
API cuMemFree_v2(uint64_t p) { free((void *)(uintptr_t)p); return 0; }
API cuMemsetD32_v2(uint64_t p, uint32_t v, size_t n) {
  for (size_t i = 0; i < n; i++) ((uint32_t *)(uintptr_t)p)[i] = v;
  return 0;
}
API cuMemcpyHtoD_v2(uint64_t p, const void *s, size_t n) { memcpy((void *)(uintptr_t)p, s, n); return 0; }
API cuMemcpyDtoD_v2(uint64_t p, uint64_t s, size_t n) { memcpy((void *)(uintptr_t)p, (void *)(uintptr_t)s, n); return 0; }
API cuMemcpyDtoH_v2(void *d, uint64_t p, size_t n) {
  memcpy(d, (void *)(uintptr_t)p, n);
  if (is("memory")) ((char *)d)[n / 2] ^= 1;
  return 0;
}
API cuMemAllocHost_v2(void **p, size_t n) { *p = malloc(n); return 0; }
API cuMemFreeHost(void *p) { free(p); return 0; }
API cuModuleLoadDataEx(void **m, const char *text, unsigned n, int *options, void **values) {
  if (strstr(text, ".entry mix") == 0 || n != 2 || options[0] != 5 || options[1] != 6) return 1;
  *m = (void *)7;
  int result = code("jit=");
  if (result) strncpy(values[0], "ptxas fatal: too new", (size_t)(uintptr_t)values[1]);
  return result;
}
API cuModuleUnload(void *m) { return m != (void *)7; }
API cuModuleGetFunction(void **f, void *m, const char *name) {
  *f = (void *)(intptr_t)(strcmp(name, "mix") == 0 ? 1 : 2);
  return m != (void *)7;
}
API cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **args, void **extra) {
  static int launched;
  uint64_t out = *(uint64_t *)args[0];
  uint32_t count = *(uint32_t *)args[1];
  launched++;
  if (gx * bx < count || gy * gz * by * bz != 1 || shared || stream || extra) return 1;
  for (uint32_t i = 0; i < count; i++) {
    if (f == (void *)1) {
      uint32_t x = (i ^ *(uint32_t *)args[2]) * 0x9E3779B1u;
      x ^= x >> 15;
      x *= 0x85EBCA77u;
      ((uint32_t *)(uintptr_t)out)[i] = x ^ (x >> 13) ^ ((is("integer") || (is("drift") && launched > 6)) && i == 77);
    } else {
      float *data = (float *)(uintptr_t)out, a = data[i], b = *(float *)args[2];
      data[i] = is("float") ? a * b * 1.00001f + a : fmaf(a, b, a);
    }
  }
  return code("launch=");
}
API cuEventCreate(void **e, unsigned f) { *e = (void *)9; return (int)f; }
API cuEventRecord(void *e, void *s) { return e != (void *)9 || s; }
API cuEventSynchronize(void *e) { return e != (void *)9; }
API cuEventElapsedTime(float *t, void *a, void *b) { *t = 1.0f; return a != b; }
API cuEventDestroy_v2(void *e) { return e != (void *)9; }
API cuGetErrorName(int c, const char **s) { *s = c ? "CUDA_ERROR_TEST" : "CUDA_SUCCESS"; return 0; }
API cuGetErrorString(int c, const char **s) { *s = c ? "it did not work" : "no error"; return 0; }
