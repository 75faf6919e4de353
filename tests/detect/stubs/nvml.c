/* A stand-in for libnvidia-ml.so.1: real ABI, no driver. What it does is chosen when it is compiled.
 *
 * INIT      return code of nvmlInitWithFlags (18 mismatch, 9 not loaded, ...)
 * HANG      init never returns;  HANG_LATER: the first question about a device never returns
 * CRASH     init dereferences a null pointer
 * OLD       calls that came with later drivers are missing
 * LOST      the second device answers 15 (GPU is lost) after its name
 * GARBAGE   every number is all ones, every text is bytes that are no UTF-8
 * TWO       with GARBAGE: the number of devices is right all the same
 * LINKS     number of NVLink lanes of each device; DOWN: how many of the second device's are down;
 *           HOLE: the lane of this number does not exist (lanes behind it do)
 * HANG_LINK a question about a lane never returns
 * GUEST     the devices are virtual GPUs of a guest; 1 with a licence, 0 without
 * FABRIC    state of the registration with the NVSwitch fabric
 * PROCESSES number of compute processes on each device
 * DENIED    no handle is given for the second device (4, insufficient permissions)
 * ECC       uncorrected errors since the last reset
 *
 * Signatures and codes: nvml.h, as nvidia-ml-py declares them.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef INIT
#define INIT 0
#endif

typedef void *device;
typedef struct { char legacy[16]; unsigned domain, bus, slot, id, subsystem; char text[32]; } pci;
typedef struct { unsigned long long total, free, used; } memory;

static int second(device which) { return which == (device)2; }

static int lost(device which) {
#ifdef LOST
  return second(which) ? 15 : 0;
#else
  (void)which;
  return 0;
#endif
}

/* The first call asks for the number (7, insufficient size), the second fills the list. */
static int processes(unsigned *count, void *list) {
#ifdef PROCESSES
  if (!list) { *count = PROCESSES; return 7; }
  memset(list, 0, PROCESSES * 16);
  *count = PROCESSES;
#else
  *count = 0;
#endif
  return 0;
}

int nvmlInitWithFlags(unsigned flags) {
  (void)flags;
#ifdef HANG
  for (;;) pause();
#endif
#ifdef CRASH
  *(volatile int *)0 = 1;
#endif
  return INIT;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
#ifdef GARBAGE
  memset(text, 0xff, size - 1);
  text[size - 1] = 0;
#else
  snprintf(text, size, "535.183.01");
#endif
  return 0;
}

int nvmlSystemGetNVMLVersion(char *text, unsigned size) { snprintf(text, size, "12.535.183.01"); return 0; }

int nvmlSystemGetCudaDriverVersion_v2(int *number) {
#ifdef GARBAGE
  *number = -1;
#else
  *number = 12020;
#endif
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
#if defined(GARBAGE) && !defined(TWO)
  *count = 0xffffffff;
#else
  *count = 2;
#endif
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *out) {
#ifdef DENIED
  if (index == 1) return 4;
#endif
  *out = (device)(uintptr_t)(index + 1);
  return 0;
}

int nvmlDeviceGetName(device which, char *text, unsigned size) {
  (void)which;
#ifdef HANG_LATER
  for (;;) pause();
#endif
#ifdef GARBAGE
  memset(text, 0xfe, size - 1);
  text[size - 1] = 0;
#else
  snprintf(text, size, "NVIDIA A100-SXM4-40GB");
#endif
  return 0;
}

int nvmlDeviceGetPciInfo_v3(device which, pci *out) {
  memset(out, 0, sizeof *out);
  out->id = 0x20b010de;
  snprintf(out->text, sizeof out->text, "00000000:%02X:00.0", second(which) ? 0x0f : 0x07);
#ifdef GARBAGE
  memset(out, 0xff, sizeof *out);
#endif
  return 0;
}

int nvmlDeviceGetCudaComputeCapability(device which, int *high, int *low) {
  *high = 8;
  *low = 0;
#ifdef GARBAGE
  *high = *low = -1;
#endif
  return lost(which);
}

int nvmlDeviceGetMemoryInfo(device which, memory *out) {
  out->total = 40960ull << 20;
  out->used = 1024ull << 20;
  out->free = out->total - out->used;
#ifdef GARBAGE
  memset(out, 0xff, sizeof *out);
#endif
  return lost(which);
}

int nvmlDeviceGetComputeMode(device which, int *mode) {
#ifdef GARBAGE
  *mode = -1;
#else
  *mode = second(which) ? 3 : 0;
#endif
  return lost(which);
}

int nvmlDeviceGetPersistenceMode(device which, int *on) { *on = 1; return lost(which); }

#ifndef OLD
int nvmlDeviceGetMigMode(device which, unsigned *now, unsigned *later) { *now = 1; *later = 0; return lost(which); }
int nvmlDeviceGetMaxMigDeviceCount(device which, unsigned *count) { *count = 7; return lost(which); }
int nvmlDeviceGetMigDeviceHandleByIndex(device which, unsigned index, device *out) {
  *out = which;
  return index < 3 ? 0 : 6; /* NVML_ERROR_NOT_FOUND */
}
int nvmlDeviceGetRemappedRows(device which, unsigned *a, unsigned *b, unsigned *pending, unsigned *failed) {
  *a = *b = *failed = 0;
  *pending = 1;
  return lost(which);
}
int nvmlDeviceGetComputeRunningProcesses_v3(device which, unsigned *count, void *list) {
  return lost(which) ? lost(which) : processes(count, list);
}

int nvmlDeviceGetClockInfo(device which, int kind, unsigned *mhz) {
  *mhz = kind == 1 ? 210 : 1215;
#ifdef GARBAGE
  *mhz = 0xffffffff;
#endif
  return lost(which);
}

int nvmlDeviceGetMaxClockInfo(device which, int kind, unsigned *mhz) {
  *mhz = kind == 1 ? 1410 : 1215;
#ifdef GARBAGE
  *mhz = 0xffffffff;
#endif
  return lost(which);
}

int nvmlDeviceGetVirtualizationMode(device which, unsigned long long *mode) {
#ifdef GUEST
  *mode = 2;
#else
  *mode = 0;
#endif
#ifdef GARBAGE
  *mode = ~0ull;
#endif
  return lost(which);
}

typedef struct { unsigned year; unsigned short month, day, hour, min, sec; unsigned char status; } expiry;
typedef struct { int code; unsigned state; char info[128], product[128]; unsigned enabled; expiry until; } feature;
typedef struct { int supported; unsigned count; feature each[3]; } features;

int nvmlDeviceGetGridLicensableFeatures_v4(device which, features *out) {
  memset(out, 0, sizeof *out);
#ifdef GUEST
  out->supported = 1;
  out->count = 2;
  out->each[0].enabled = 1;
  out->each[0].state = GUEST;
  out->each[1].state = 1; /* licensed, but not the feature that is switched on */
#endif
#ifdef GARBAGE
  memset(out, 0xff, sizeof *out);
#endif
  return lost(which);
}

typedef struct { unsigned version; unsigned char cluster[16]; int status; unsigned clique, state, health; } fabric;

int nvmlDeviceGetGpuFabricInfoV(device which, fabric *out) {
#ifdef FABRIC
  out->state = FABRIC;
  return lost(which);
#elif defined(GARBAGE)
  out->state = 0xffffffff;
  return lost(which);
#else
  return 3; /* NVML_ERROR_NOT_SUPPORTED */
#endif
}

int nvmlDeviceGetNvLinkState(device which, unsigned lane, unsigned *active) {
#ifdef HANG_LINK
  for (;;) pause();
#endif
#ifdef GARBAGE
  *active = 0xffffffff;
  return lost(which);
#endif
#ifdef HOLE
  if (lane == HOLE) return 2;
#endif
#ifdef LINKS
  if (lane < LINKS) {
#ifdef DOWN
    *active = !(second(which) && lane < DOWN);
#else
    *active = 1;
#endif
    return lost(which);
  }
#endif
  return 2; /* NVML_ERROR_INVALID_ARGUMENT */
}

int nvmlDeviceGetTotalEccErrors(device which, int kind, int counter, unsigned long long *count) {
#ifdef GARBAGE
  *count = ~0ull;
#elif defined(ECC)
  *count = kind == 1 && counter == 0 ? ECC : 0;
#else
  return 3;
#endif
  return lost(which);
}

#ifdef THROTTLE
int nvmlDeviceGetCurrentClocksThrottleReasons(device which, unsigned long long *reasons) {
  *reasons = THROTTLE;
  return lost(which);
}
int nvmlDeviceGetCurrentClocksEventReasons(device which, unsigned long long *reasons) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(which, reasons);
}
#endif
#else
int nvmlDeviceGetComputeRunningProcesses_v2(device which, unsigned *count, void *list) {
  return lost(which) ? lost(which) : processes(count, list);
}
#endif
