/* A driver for tests: libcuda's C interface over host memory, as strict with what it is handed as the real one.
   Handles and device addresses are 64-bit values that no host pointer has, so that a cut or mixed-up one is refused with
   the code that the driver API reference names. ENVCHECK_FAULT names what goes wrong; ENVCHECK_LEFT is a file that gets
   a line for whatever is still held when a context is given back. With -DCUDA_H the compiler holds every signature
   against NVIDIA's own cuda.h. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef CUDA_H
#include <cuda.h>
#else
typedef int CUresult, CUdevice, CUdevice_attribute, CUjit_option;
typedef unsigned long long CUdeviceptr;
typedef struct context *CUcontext;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef struct stream *CUstream;
typedef struct event *CUevent;
#define CUDAAPI
#endif
#define API __attribute__((visibility("default"))) CUresult CUDAAPI
enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
       INVALID_HANDLE = 400, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700 };
enum { DEVICES = 2, FIRST = 40, BLOCKS = 512 };
#define HANDLE(kind, number) ((void *)(uintptr_t)(0x7b0000000000ull + (kind) * 0x100000000ull + (number) * 0x1000ull))
#define MODULE HANDLE(1, 7)
#define MIX HANDLE(2, 1)
#define FUSED HANDLE(2, 2)
#define DIFFER HANDLE(2, 3)
#define EVENT HANDLE(3, 9)

static struct { CUdeviceptr at; size_t size; char *host; int device; } blocks[BLOCKS];
static int ready, modules, events, launched, sticky[FIRST + DEVICES];
static __thread int current = -1; /* a context is current in a thread */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *fault(void) { const char *f = getenv("ENVCHECK_FAULT"); return f ? f : ""; }
static int is(const char *name) { return strcmp(fault(), name) == 0; }
static int code(const char *prefix) { size_t n = strlen(prefix); return strncmp(fault(), prefix, n) ? 0 : atoi(fault() + n); }
static int known(CUdevice d) { return d >= FIRST && d < FIRST + DEVICES; }
static int barred(void) { return !ready ? NOT_INITIALIZED : current < 0 ? INVALID_CONTEXT : sticky[current]; }
static size_t room(void) { const char *mib = getenv("ENVCHECK_FREE_MIB"); return (size_t)(mib ? atoi(mib) : 7 << 10) << 20; }
static uint32_t mixed(uint32_t i, uint32_t seed) {
  uint32_t x = (i ^ seed) * 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x85EBCA77u;
  return x ^ (x >> 13);
}
static char *at(CUdeviceptr p, size_t n) { /* host memory behind a range of one allocation; NULL if it is none */
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].host && p >= blocks[i].at && n <= blocks[i].size && p - blocks[i].at <= blocks[i].size - n)
      return blocks[i].host + (p - blocks[i].at);
  return NULL;
}
#define DEMAND(holds, otherwise) do { if (!(holds)) return (CUresult)(otherwise); } while (0)
#define USABLE() do { int bar = barred(); if (bar) return (CUresult)bar; } while (0)

API cuDriverGetVersion(int *v) { DEMAND(v, INVALID_VALUE); *v = 12080; return OK; }
API cuInit(unsigned flags) {
  if (is("hang")) sleep(600);
  if (is("crash")) { *(volatile int *)0 = 1; }
  DEMAND(flags == 0, INVALID_VALUE);
  ready = !code("init=");
  return code("init=");
}
API cuDeviceGetCount(int *n) { DEMAND(ready, NOT_INITIALIZED); *n = is("none") ? 0 : DEVICES; return OK; }
API cuDeviceGet(CUdevice *d, int i) {
  DEMAND(ready, NOT_INITIALIZED);
  DEMAND(i >= 0 && i < DEVICES, INVALID_DEVICE);
  *d = i + FIRST;
  return OK;
}
API cuDeviceGetName(char *s, int n, CUdevice d) {
  DEMAND(known(d), INVALID_DEVICE);
  DEMAND(s && n > 0 && n < 100000, INVALID_VALUE);
  strncpy(s, "NVIDIA Test", (size_t)n);
  return OK;
}
API cuDeviceTotalMem_v2(size_t *n, CUdevice d) { DEMAND(known(d), INVALID_DEVICE); *n = (size_t)8 << 30; return OK; }
API cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
  DEMAND(known(d), INVALID_DEVICE);
  DEMAND((int)a != 36, INVALID_VALUE); /* newer drivers no longer tell the memory clock */
  *v = (int)a == 75 ? 8 : (int)a == 76 ? 9 : (int)a;
  return OK;
}
API cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
  DEMAND(known(d), INVALID_DEVICE);
  DEMAND(!code("context="), code("context="));
  sticky[d] = 0;
  *c = (CUcontext)HANDLE(0, d);
  return OK;
}
API cuCtxSetCurrent(CUcontext c) {
  for (int d = FIRST; d < FIRST + DEVICES; d++)
    if (c == (CUcontext)HANDLE(0, d)) { current = d; return OK; }
  return (CUresult)INVALID_CONTEXT;
}
API cuDevicePrimaryCtxRelease_v2(CUdevice d) {
  const char *left = getenv("ENVCHECK_LEFT");
  int held = 0;
  DEMAND(known(d), INVALID_DEVICE);
  for (int i = 0; i < BLOCKS; i++) held += blocks[i].host && blocks[i].device == d;
  if (left && (held || modules || events)) {
    FILE *out = fopen(left, "a");
    if (out) { fprintf(out, "%d blocks, %d modules, %d events\n", held, modules, events); fclose(out); }
  }
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].device == d) { free(blocks[i].host); blocks[i].host = NULL; }
  current = -1;
  return OK;
}
API cuCtxSynchronize(void) { USABLE(); if (!sticky[current]) sticky[current] = code("sync="); return (CUresult)sticky[current]; }
API cuMemGetInfo_v2(size_t *f, size_t *t) { USABLE(); *f = room(); *t = (size_t)8 << 30; return OK; }
API cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
  static CUdeviceptr next = 0x7a0000000000ull;
  USABLE();
  DEMAND(p && n, INVALID_VALUE);
  DEMAND(!is("full") && n <= room(), OUT_OF_MEMORY);
  pthread_mutex_lock(&lock);
  for (int i = 0; i < BLOCKS; i++)
    if (!blocks[i].host) {
      blocks[i].host = malloc(n);
      *p = blocks[i].at = next, blocks[i].size = n, blocks[i].device = current;
      next += (n / 512 + 2) * 512; /* 256-byte aligned, and never side by side */
      pthread_mutex_unlock(&lock);
      return blocks[i].host ? OK : (CUresult)OUT_OF_MEMORY;
    }
  pthread_mutex_unlock(&lock);
  return (CUresult)OUT_OF_MEMORY;
}
API cuMemFree_v2(CUdeviceptr p) {
  USABLE();
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].host && blocks[i].at == p) { free(blocks[i].host); blocks[i].host = NULL; return OK; }
  return (CUresult)INVALID_VALUE;
}
API cuMemsetD32_v2(CUdeviceptr p, unsigned v, size_t n) {
  USABLE();
  uint32_t *to = (uint32_t *)at(p, 4 * n);
  DEMAND(to && p % 4 == 0, INVALID_VALUE);
  for (size_t i = 0; i < n; i++) to[i] = v;
  return OK;
}
API cuMemcpyHtoD_v2(CUdeviceptr p, const void *s, size_t n) {
  USABLE();
  DEMAND(s && at(p, n), INVALID_VALUE);
  memcpy(at(p, n), s, n);
  return OK;
}
API cuMemcpyDtoD_v2(CUdeviceptr p, CUdeviceptr s, size_t n) {
  USABLE();
  DEMAND(at(p, n) && at(s, n), INVALID_VALUE);
  memcpy(at(p, n), at(s, n), n);
  return OK;
}
API cuMemcpyDtoH_v2(void *d, CUdeviceptr p, size_t n) {
  USABLE();
  DEMAND(d && at(p, n), INVALID_VALUE);
  memcpy(d, at(p, n), n);
  if (is("memory")) ((char *)d)[n / 2] ^= 1;
  return OK;
}
API cuMemAllocHost_v2(void **p, size_t n) { USABLE(); DEMAND(p && n, INVALID_VALUE); *p = malloc(n); return *p ? OK : OUT_OF_MEMORY; }
API cuMemFreeHost(void *p) { USABLE(); DEMAND(p, INVALID_VALUE); free(p); return OK; }
API cuModuleLoadDataEx(CUmodule *m, const void *text, unsigned n, CUjit_option *options, void **values) {
  char *log = NULL;
  size_t size = 0;
  USABLE();
  DEMAND(m && text && strncmp(text, "\n.version ", 10) == 0 && (!n || (options && values)), INVALID_VALUE);
  for (unsigned i = 0; i < n; i++) {
    if ((int)options[i] == 5) log = values[i];
    else if ((int)options[i] == 6) size = (size_t)(uintptr_t)values[i];
    else return (CUresult)INVALID_VALUE;
  }
  DEMAND(!log == !size && size < 1 << 24, INVALID_VALUE);
  if (code("jit=")) {
    if (log) snprintf(log, size, "ptxas fatal: too new");
    return (CUresult)code("jit=");
  }
  *m = (CUmodule)MODULE, modules++;
  return OK;
}
API cuModuleUnload(CUmodule m) { USABLE(); DEMAND(m == (CUmodule)MODULE, INVALID_HANDLE); modules--; return OK; }
API cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
  USABLE();
  DEMAND(m == (CUmodule)MODULE, INVALID_HANDLE);
  *f = (CUfunction)(strcmp(name, "mix") == 0 ? MIX : strcmp(name, "fused") == 0 ? FUSED : strcmp(name, "differ") == 0 ? DIFFER : NULL);
  return *f ? OK : (CUresult)NOT_FOUND;
}
API cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, CUstream stream, void **args, void **extra) {
  USABLE();
  DEMAND(f == (CUfunction)MIX || f == (CUfunction)FUSED || f == (CUfunction)DIFFER, INVALID_HANDLE);
  DEMAND(gx && gx < 1u << 31 && gy == 1 && gz == 1 && bx && bx <= 1024 && by == 1 && bz == 1, INVALID_VALUE);
  DEMAND(!shared && !stream && args && !extra, INVALID_VALUE);
  DEMAND((uintptr_t)args[0] % 8 == 0 && (uintptr_t)args[1] % 4 == 0 && (uintptr_t)args[2] % 4 == 0, INVALID_VALUE);
  uint32_t count = *(uint32_t *)args[1], threads = gx * bx;
  char *data = at(*(uint64_t *)args[0], 4ull * (count < threads ? count : threads));
  int many = f == (CUfunction)MIX ? ++launched : 0;
  uint32_t *wrong = f == (CUfunction)DIFFER ? (uint32_t *)at(*(uint64_t *)args[4], 4) : NULL;
  if (!data || (f == (CUfunction)DIFFER && !wrong)) { sticky[current] = ILLEGAL_ADDRESS; return OK; } /* told when waited for */
  for (uint32_t i = 0; i < count && i < threads; i++) {
    uint32_t *word = (uint32_t *)data + i;
    if (f == (CUfunction)MIX)
      *word = mixed(i, *(uint32_t *)args[2]) ^ *(uint32_t *)args[3] ^ ((is("integer") || (is("drift") && many > 6)) && i == 77);
    else if (f == (CUfunction)DIFFER)
      *wrong += *word != (mixed(i, *(uint32_t *)args[2]) ^ *(uint32_t *)args[3]);
    else {
      float *v = (float *)data, a = v[i], b = *(float *)args[2];
      v[i] = is("float") ? a * b * 1.00001f + a : fmaf(a, b, a);
    }
  }
  return (CUresult)code("launch=");
}
API cuEventCreate(CUevent *e, unsigned f) { USABLE(); DEMAND(e && f < 8, INVALID_VALUE); *e = (CUevent)EVENT, events++; return OK; }
API cuEventRecord(CUevent e, CUstream s) { USABLE(); DEMAND(e == (CUevent)EVENT && !s, INVALID_HANDLE); return OK; }
API cuEventSynchronize(CUevent e) { USABLE(); DEMAND(e == (CUevent)EVENT, INVALID_HANDLE); return OK; }
API cuEventElapsedTime(float *t, CUevent a, CUevent b) {
  USABLE();
  DEMAND(t && a == (CUevent)EVENT && b == (CUevent)EVENT, INVALID_HANDLE);
  *t = 1.0f;
  return OK;
}
API cuEventDestroy_v2(CUevent e) { USABLE(); DEMAND(e == (CUevent)EVENT, INVALID_HANDLE); events--; return OK; }
API cuGetErrorName(CUresult c, const char **s) {
  *s = (int)c < 1000 ? "CUDA_ERROR_TEST" : NULL; /* as the reference has it for a code that the driver does not know */
  return (int)c < 1000 ? OK : (CUresult)INVALID_VALUE;
}
API cuGetErrorString(CUresult c, const char **s) {
  *s = (int)c < 1000 ? "it did not work" : NULL;
  return (int)c < 1000 ? OK : (CUresult)INVALID_VALUE;
}
