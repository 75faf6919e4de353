/* A stand-in for libcuda.so.1: real ABI, no driver. What it does is chosen when it is compiled.
 *
 * INIT      return code of cuInit;  NAME: what cuGetErrorName says of it (leave out for a driver without names)
 * HANG      cuInit never returns;   CRASH: it aborts
 * VERSION   what cuDriverGetVersion says
 *
 * Signatures: cuda.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef INIT
#define INIT 0
#endif
#ifndef VERSION
#define VERSION 12020
#endif

int cuDriverGetVersion(int *number) { *number = VERSION; return 0; }

int cuInit(unsigned flags) {
  (void)flags;
#ifdef HANG
  for (;;) pause();
#endif
#ifdef CRASH
  abort();
#endif
  return INIT;
}

#ifdef NAME
int cuGetErrorName(int code, const char **text) { (void)code; *text = NAME; return 0; }
#endif

int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDeviceGetName(char *text, int size, int device) { (void)device; snprintf(text, size, "Orin"); return 0; }
int cuDeviceTotalMem_v2(size_t *size, int device) { (void)device; *size = (size_t)30 << 30; return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) {
  (void)device;
  *value = which == 75 ? 8 : which == 76 ? 7 : which == 18 ? 1 : 0;
  return 0;
}
