/* HIP for tests, with hipRTC inside as old releases have it: the C interface over host memory, strict with its arguments.
   ENVCHECK_FAULT names what goes wrong, ENVCHECK_COMPILED is a file that gets the options of each compilation. With
   -DHIP_H the compiler holds every signature against AMD's own headers. */
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
typedef void *hipModule_t, *hipFunction_t, *hipStream_t, *hiprtcProgram;
#endif
#if HIP_VERSION_MAJOR >= 7 /* what stands behind the pointers became constant, which no caller can see */
#define NAMES const char *const *
#else
#define NAMES const char **
#endif
#define EXPORT __attribute__((visibility("default")))
#define API EXPORT hipError_t
enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, ILLEGAL = 700, DEVICES = 2, BLOCKS = 8 };
#define HANDLE(number) ((void *)(uintptr_t)(0x7b0000000000ull + (number) * 0x1000ull))
#define DEMAND(holds, otherwise) do { if (!(holds)) return (hipError_t)(otherwise); } while (0)

static struct { uintptr_t at; size_t size; char *host; } blocks[BLOCKS];
static int current, sticky;
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
  DEMAND(!is("full"), OUT_OF_MEMORY);
  for (int i = 0; i < BLOCKS; i++)
    if (!blocks[i].host) {
      blocks[i].host = malloc(n), blocks[i].size = n, blocks[i].at = next;
      *p = (void *)next;
      next += (n / 4096 + 2) * 4096;
      return OK;
    }
  return (hipError_t)OUT_OF_MEMORY;
}
API hipFree(void *p) {
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].host && blocks[i].at == (uintptr_t)p) { free(blocks[i].host); blocks[i].host = NULL; return OK; }
  return (hipError_t)INVALID_VALUE;
}
API hipMemset(void *p, int v, size_t n) { DEMAND(at(p, n), INVALID_VALUE); memset(at(p, n), v, n); return OK; }
API hipMemcpy(void *to, const void *from, size_t n, hipMemcpyKind kind) {
  DEMAND(!sticky, sticky);
  if ((int)kind == 1) { DEMAND(at(to, n) && from, INVALID_VALUE); memcpy(at(to, n), from, n); return OK; }
  DEMAND((int)kind == 2 && to && at(from, n), INVALID_VALUE);
  memcpy(to, at(from, n), n);
  if (is("memory")) ((char *)to)[n / 2] ^= 1;
  return OK;
}
API hipModuleLoadData(hipModule_t *m, const void *image) {
  DEMAND(m && image && memcmp(image, "\177ELF", 4) == 0, 200);
  DEMAND(!code("load="), code("load="));
  *m = HANDLE(1);
  return OK;
}
API hipModuleUnload(hipModule_t m) { DEMAND((void *)m == HANDLE(1), 400); return OK; }
API hipModuleGetFunction(hipFunction_t *f, hipModule_t m, const char *name) {
  DEMAND((void *)m == HANDLE(1), 400);
  DEMAND(strcmp(name, "mix") == 0, 500);
  *f = HANDLE(2);
  return OK;
}
API hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, hipStream_t stream, void **args, void **extra) {
  DEMAND((void *)f == HANDLE(2), 400);
  DEMAND(gx && gy == 1 && gz == 1 && bx && bx <= 1024 && by == 1 && bz == 1, INVALID_VALUE);
  DEMAND(!shared && !stream && args && !extra, INVALID_VALUE);
  uint32_t count = *(uint32_t *)args[1], seed = *(uint32_t *)args[2];
  uint32_t *out = (uint32_t *)at(*(void **)args[0], 4ull * count);
  if (!out) { sticky = ILLEGAL; return OK; }
  for (uint32_t i = 0; i < count && i < gx * bx; i++) {
    uint32_t x = (i ^ seed) * 0x9E3779B1u;
    x ^= x >> 15;
    x *= 0x85EBCA77u;
    out[i] = x ^ (x >> 13) ^ (is("integer") && i == 77);
  }
  return OK;
}
API hipDeviceSynchronize(void) { if (!sticky) sticky = code("sync="); return (hipError_t)sticky; }

EXPORT hiprtcResult hiprtcCreateProgram(hiprtcProgram *p, const char *source, const char *name, int n,
                                        NAMES headers, NAMES names) {
  *p = HANDLE(3);
  return (hiprtcResult)(!strstr(source, "void mix(") || !name || n || headers || names);
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
