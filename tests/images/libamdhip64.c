/* HIP for tests, with hipRTC inside as old releases have it: the C interface over host memory, strict with its arguments.
   ENVCHECK_FAULT names what goes wrong, ENVCHECK_COMPILED is a file that gets the options of each compilation. With
   -DHIP_H the compiler holds every signature against AMD's own headers. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HIP_H
#define __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_HCC__
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#else
#define HIP_VERSION_MAJOR 6
typedef int hipError_t, hiprtcResult, hipDevice_t, hipMemcpyKind;
typedef void *hipModule_t, *hipFunction_t, *hipStream_t, *hipEvent_t, *hipDeviceptr_t, *hiprtcProgram;
#endif
#if HIP_VERSION_MAJOR >= 7 /* what stands behind the pointers became constant, which no caller can see */
#define NAMES const char *const *
#define HOST const
#else
#define NAMES const char **
#define HOST
#endif
#define EXPORT __attribute__((visibility("default")))
#define API EXPORT hipError_t
enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, ILLEGAL = 700, DEVICES = 2, BLOCKS = 512 };
#define HANDLE(number) ((void *)(uintptr_t)(0x7b0000000000ull + (number) * 0x1000ull))
#define DEMAND(holds, otherwise) do { if (!(holds)) return (hipError_t)(otherwise); } while (0)

static struct { uintptr_t at; size_t size; char *host; } blocks[BLOCKS];
static __thread int current; /* a device is current in a thread */
static int sticky, launched;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t room(void) { const char *mib = getenv("ENVCHECK_FREE_MIB"); return (size_t)(mib ? atoi(mib) : 7 << 10) << 20; }
static uint32_t mixed(uint32_t i, uint32_t seed) {
  uint32_t x = (i ^ seed) * 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x85EBCA77u;
  return x ^ (x >> 13);
}
static const char *fault(void) { const char *f = getenv("ENVCHECK_FAULT"); return f ? f : ""; }
static int is(const char *name) { return strcmp(fault(), name) == 0; }
static int code(const char *prefix) { size_t n = strlen(prefix); return strncmp(fault(), prefix, n) ? 0 : atoi(fault() + n); }
static char *at(const void *p, size_t n) {
  uintptr_t to = (uintptr_t)p;
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].host && to >= blocks[i].at && n <= blocks[i].size && to - blocks[i].at <= blocks[i].size - n)
      return blocks[i].host + (to - blocks[i].at);
  return NULL;
}

EXPORT const char *hipGetErrorString(hipError_t e) { return (int)e ? "hipErrorTest" : "hipSuccess"; }
API hipInit(unsigned int flags) { DEMAND(flags == 0, INVALID_VALUE); return (hipError_t)code("init="); }
API hipRuntimeGetVersion(int *v) { DEMAND(v, INVALID_VALUE); *v = 60443482; return OK; }
API hipGetDeviceCount(int *n) { *n = is("none") ? 0 : DEVICES; return OK; }
API hipSetDevice(int d) { DEMAND(d >= 0 && d < DEVICES, INVALID_DEVICE); current = d; return OK; }
API hipDeviceGetName(char *s, int n, hipDevice_t d) {
  DEMAND(d >= 0 && d < DEVICES, INVALID_DEVICE);
  DEMAND(s && n > 0 && n < 100000, INVALID_VALUE);
  snprintf(s, (size_t)n, "AMD Test %d", d);
  return OK;
}
API hipDeviceGetPCIBusId(char *s, int n, int d) {
  DEMAND(d >= 0 && d < DEVICES && !is("nobus"), INVALID_DEVICE);
  DEMAND(s && n >= 13, INVALID_VALUE);
  snprintf(s, (size_t)n, "0000:%s:00.0", d ? "83" : "C3");
  return OK;
}
API hipDeviceTotalMem(size_t *n, hipDevice_t d) { DEMAND(d >= 0 && d < DEVICES, INVALID_DEVICE); *n = (size_t)16 << 30; return OK; }
API hipMalloc(void **p, size_t n) {
  static uintptr_t next = 0x7a0000000000ull;
  DEMAND(p && n, INVALID_VALUE);
  DEMAND(!is("full") && n <= room(), OUT_OF_MEMORY);
  pthread_mutex_lock(&lock);
  for (int i = 0; i < BLOCKS; i++)
    if (!blocks[i].host) {
      blocks[i].host = malloc(n), blocks[i].size = n, blocks[i].at = next;
      *p = (void *)next;
      next += (n / 4096 + 2) * 4096;
      pthread_mutex_unlock(&lock);
      return OK;
    }
  pthread_mutex_unlock(&lock);
  return (hipError_t)OUT_OF_MEMORY;
}
API hipFree(void *p) {
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].host && blocks[i].at == (uintptr_t)p) { free(blocks[i].host); blocks[i].host = NULL; return OK; }
  return (hipError_t)INVALID_VALUE;
}
API hipMemsetD32(hipDeviceptr_t p, int v, size_t n) {
  int *to = (int *)at(p, 4 * n);
  DEMAND(to, INVALID_VALUE);
  for (size_t i = 0; i < n; i++) to[i] = v;
  return OK;
}
API hipMemGetInfo(size_t *f, size_t *t) { DEMAND(f && t, INVALID_VALUE); *f = room(); *t = (size_t)16 << 30; return OK; }
API hipMemcpyHtoD(hipDeviceptr_t to, HOST void *from, size_t n) {
  DEMAND(!sticky, sticky);
  DEMAND(at(to, n) && from, INVALID_VALUE);
  memcpy(at(to, n), from, n);
  return OK;
}
API hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t n) {
  DEMAND(!sticky, sticky);
  DEMAND(at(to, n) && at(from, n), INVALID_VALUE);
  memcpy(at(to, n), at(from, n), n);
  return OK;
}
API hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t n) {
  DEMAND(!sticky, sticky);
  DEMAND(to && at(from, n), INVALID_VALUE);
  memcpy(to, at(from, n), n);
  if (is("memory")) ((char *)to)[n / 2] ^= 1;
  return OK;
}
API hipHostMalloc(void **p, size_t n, unsigned int flags) { DEMAND(p && n && !flags, INVALID_VALUE); *p = malloc(n); return OK; }
API hipHostFree(void *p) { DEMAND(p, INVALID_VALUE); free(p); return OK; }
API hipEventCreateWithFlags(hipEvent_t *e, unsigned flags) { DEMAND(e && flags < 8, INVALID_VALUE); *e = HANDLE(4); return OK; }
API hipEventRecord(hipEvent_t e, hipStream_t s) { DEMAND((void *)e == HANDLE(4) && !s, 400); return OK; }
API hipEventSynchronize(hipEvent_t e) { DEMAND((void *)e == HANDLE(4), 400); return OK; }
API hipEventElapsedTime(float *t, hipEvent_t a, hipEvent_t b) {
  DEMAND(t && (void *)a == HANDLE(4) && (void *)b == HANDLE(4), 400);
  *t = 1.0f;
  return OK;
}
API hipEventDestroy(hipEvent_t e) { DEMAND((void *)e == HANDLE(4), 400); return OK; }
API hipModuleLoadData(hipModule_t *m, const void *image) {
  DEMAND(m && image && memcmp(image, "\177ELF", 4) == 0, 200);
  DEMAND(!code("load="), code("load="));
  *m = HANDLE(1);
  return OK;
}
API hipModuleUnload(hipModule_t m) { DEMAND((void *)m == HANDLE(1), 400); return OK; }
API hipModuleGetFunction(hipFunction_t *f, hipModule_t m, const char *name) {
  DEMAND((void *)m == HANDLE(1), 400);
  DEMAND(strcmp(name, "mix") == 0 || strcmp(name, "differ") == 0 || strcmp(name, "fused") == 0, 500);
  *f = HANDLE(20 + name[0]);
  return OK;
}
API hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, hipStream_t stream, void **args, void **extra) {
  int mix = (void *)f == HANDLE(20 + 'm'), differ = (void *)f == HANDLE(20 + 'd'), many = mix ? ++launched : 0;
  DEMAND(mix || differ || (void *)f == HANDLE(20 + 'f'), 400);
  DEMAND(gx && gy == 1 && gz == 1 && bx && bx <= 1024 && by == 1 && bz == 1, INVALID_VALUE);
  DEMAND(!shared && !stream && args && !extra, INVALID_VALUE);
  uint32_t count = *(uint32_t *)args[1], seed = *(uint32_t *)args[2];
  uint32_t *out = (uint32_t *)at(*(void **)args[0], 4ull * count), *wrong = differ ? (uint32_t *)at(*(void **)args[4], 4) : NULL;
  if (!out || (differ && !wrong)) { sticky = ILLEGAL; return OK; }
  for (uint32_t i = 0; i < count && i < gx * bx; i++) {
    float *v = (float *)out + i;
    if (mix) out[i] = mixed(i, seed) ^ *(uint32_t *)args[3] ^ ((is("integer") || (is("drift") && many > 6)) && i == 77);
    else if (differ) *wrong += out[i] != (mixed(i, seed) ^ *(uint32_t *)args[3]);
    else *v = fmaf(*v, *(float *)args[2], *v) * (is("float") ? 1.00001f : 1);
  }
  return (hipError_t)code("launch=");
}
API hipDeviceSynchronize(void) { if (!sticky) sticky = code("sync="); return (hipError_t)sticky; }

EXPORT hiprtcResult hiprtcCreateProgram(hiprtcProgram *p, const char *source, const char *name, int n,
                                        NAMES headers, NAMES names) {
  *p = HANDLE(3);
  return (hiprtcResult)(!strstr(source, "void mix(") || !strstr(source, "void differ(") || !strstr(source, "void fused(") || !name || n || headers || names);
}
EXPORT hiprtcResult hiprtcCompileProgram(hiprtcProgram p, int n, NAMES options) {
  const char *seen = getenv("ENVCHECK_COMPILED");
  FILE *out = seen ? fopen(seen, "a") : NULL;
  if (out) {
    fprintf(out, "%d%s%s\n", current, n ? " " : "", n ? options[0] : "");
    fclose(out);
  }
  return (hiprtcResult)((void *)p != HANDLE(3) || n > 1 ? 4 : code("compile="));
}
EXPORT hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram p, size_t *n) { *n = 17; return (hiprtcResult)((void *)p != HANDLE(3)); }
EXPORT hiprtcResult hiprtcGetProgramLog(hiprtcProgram p, char *log) { memcpy(log, "no such gfx found", 17); return (hiprtcResult)((void *)p != HANDLE(3)); }
EXPORT hiprtcResult hiprtcGetCodeSize(hiprtcProgram p, size_t *n) { *n = 64; return (hiprtcResult)((void *)p != HANDLE(3)); }
EXPORT hiprtcResult hiprtcGetCode(hiprtcProgram p, char *text) { memcpy(text, "\177ELF", 4); return (hiprtcResult)((void *)p != HANDLE(3)); }
EXPORT hiprtcResult hiprtcDestroyProgram(hiprtcProgram *p) { return (hiprtcResult)((void *)*p != HANDLE(3)); }

/* Of the code object manager (amd_comgr.h): what the compiler can make code for, in the tests' HIP two targets. */
EXPORT int amd_comgr_get_isa_count(size_t *n) { *n = 2; return 0; }
EXPORT int amd_comgr_get_isa_name(size_t i, const char **name) {
  static const char *names[] = {"amdgcn-amd-amdhsa--gfx1100", "amdgcn-amd-amdhsa--gfx11-generic"};
  *name = i < 2 ? names[i] : NULL;
  return i >= 2;
}
