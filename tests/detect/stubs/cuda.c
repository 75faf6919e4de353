/* A stand-in for libcuda.so.1: real ABI, no driver. What it does is chosen when it is compiled.
 *
 * INIT      return code of cuInit;  NAME: what cuGetErrorName says of it (leave out for a driver without names)
 * HANG      cuInit never returns;   CRASH: it aborts
 * VERSION   what cuDriverGetVersion says
 * COUNT     number of devices; PEERS: whether they reach each other's memory
 * GARBAGE   every attribute, size and address is all ones
 * BARE      calls other than cuInit and cuDriverGetVersion are missing
 * MODE      compute mode; DISCRETE: the device is no integrated one
 *
 * Signatures: cuda.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

#ifndef COUNT
#define COUNT 1
#endif
#ifndef MODE
#define MODE 0
#endif
#ifdef DISCRETE
#define INTEGRATED 0
#else
#define INTEGRATED 1
#endif

#ifndef BARE
int cuDeviceGetCount(int *count) { *count = COUNT; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }

int cuDeviceGetName(char *text, int size, int device) {
  (void)device;
#ifdef GARBAGE
  memset(text, 0xff, size - 1);
  text[size - 1] = 0;
#else
  snprintf(text, size, "Orin");
#endif
  return 0;
}

int cuDeviceTotalMem_v2(size_t *size, int device) {
  (void)device;
#ifdef GARBAGE
  *size = ~(size_t)0;
#else
  *size = (size_t)30 << 30;
#endif
  return 0;
}

int cuDeviceGetPCIBusId(char *text, int size, int device) {
#ifdef GARBAGE
  memset(text, 0xff, size - 1);
  text[size - 1] = 0;
#else
  snprintf(text, size, "0000:%02X:00.0", 0x41 + device);
#endif
  return 0;
}

int cuDeviceGetAttribute(int *value, int which, int device) {
  (void)device;
  *value = which == 75 ? 8 : which == 76 ? 7 : which == 18 ? INTEGRATED : which == 20 ? MODE : 0;
#ifdef GARBAGE
  *value = -1;
#endif
  return 0;
}

#ifdef PEERS
int cuDeviceCanAccessPeer(int *can, int one, int other) { (void)one; (void)other; *can = PEERS; return 0; }
#endif
#endif
