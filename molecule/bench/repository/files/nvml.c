/*
 * Copyright: (c) 2026, gpuops contributors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Stand-in for libnvidia-ml.so.1: the calls with which programs ask what cards there are.
 *
 * The cards come from cards.tsv beside the host's profile (one line "cuda VERSION", one line "gpu …" per card); the memory
 * in use is what live processes claim under /run/gpu-bench-state, each holding a lock on its file. A call that is missing here is
 * one that the library of an older driver would lack as well: bindings answer "function not found".
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9, VERSION_MISMATCH = 18 };
enum { MAX_GPUS = 16, IDLE_C = 33, BUSY_C = 58 };

#define STATE "/run/gpu-bench-state"
#define MIB (1ULL << 20)

typedef struct {
    unsigned index, major, minor, total_mib, power_w, pci_id, subsystem_id;
    char uuid[64], name[96], bus_id[32];
} gpu_t;

typedef struct {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_id, subsystem_id;
    char bus_id[32];
} pci_t;

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;
typedef struct { unsigned gpu, memory; } utilization_t;

static gpu_t gpus[MAX_GPUS];
static unsigned gpu_count;
static int cuda_version;

static int read_cards(const char *path) {
    char line[512];
    FILE *source = fopen(path, "r");
    if (source == NULL)
        return 0;
    gpu_count = 0;
    while (fgets(line, sizeof line, source)) {
        gpu_t *gpu = &gpus[gpu_count];
        int cuda_major, cuda_minor;
        if (sscanf(line, "cuda\t%d.%d", &cuda_major, &cuda_minor) == 2)
            cuda_version = cuda_major * 1000 + cuda_minor * 10;
        else if (gpu_count < MAX_GPUS &&
                 sscanf(line, "gpu\t%u\t%63[^\t]\t%95[^\t]\t%31[^\t]\t%u.%u\t%u\t%u\t%x\t%x", &gpu->index, gpu->uuid, gpu->name,
                        gpu->bus_id, &gpu->major, &gpu->minor, &gpu->total_mib, &gpu->power_w, &gpu->pci_id,
                        &gpu->subsystem_id) == 10)
            gpu_count++;
    }
    fclose(source);
    return gpu_count > 0;
}

/* Memory that one claim file says its process holds of a card; 0 when nobody holds the file any more. */
static unsigned claimed_mib(const char *name, const gpu_t *gpu) {
    char path[512], text[8192], *entry;
    ssize_t length = 0;
    snprintf(path, sizeof path, STATE "/%s", name);
    int file = open(path, O_RDONLY);
    if (file < 0)
        return 0;
    if (flock(file, LOCK_SH | LOCK_NB) != 0)
        length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    entry = strstr(text, gpu->uuid);
    return entry ? strtoul(entry + strlen(gpu->uuid) + 2, NULL, 10) : 0;
}

static unsigned long long used_bytes(const gpu_t *gpu) {
    unsigned long long used = 0;
    DIR *directory = opendir(STATE);
    struct dirent *entry;
    if (directory == NULL)
        return 0;
    while ((entry = readdir(directory)))
        if (strstr(entry->d_name, ".json"))
            used += claimed_mib(entry->d_name, gpu);
    closedir(directory);
    return used * MIB;
}

static int text(char *target, unsigned length, const char *value) {
    snprintf(target, length, "%s", value);
    return SUCCESS;
}

/* The kernel module that is loaded has to be of this library's own version. */
static int driver_state(void) {
    char loaded[32] = "";
    FILE *source = fopen(STATE "/loaded_driver", "r");
    if (source == NULL)
        return DRIVER_NOT_LOADED;
    fscanf(source, "%31s", loaded);
    fclose(source);
    return strcmp(loaded, DRIVER_VERSION) == 0 ? SUCCESS : VERSION_MISMATCH;
}

int nvmlInit_v2(void) {
    if (driver_state() != SUCCESS)
        return driver_state();
    return read_cards("/run/gpu-bench/cards.tsv") || read_cards("/etc/gpu-bench/cards.tsv") ? SUCCESS : DRIVER_NOT_LOADED;
}
int nvmlInit(void) { return nvmlInit_v2(); }
int nvmlInitWithFlags(unsigned flags) { return nvmlInit_v2(); }
int nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(int code) {
    switch (code) {
    case SUCCESS: return "Success";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_FOUND: return "Not Found";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case VERSION_MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) { return text(version, length, DRIVER_VERSION); }
int nvmlSystemGetNVMLVersion(char *version, unsigned length) { return text(version, length, DRIVER_VERSION); }
int nvmlSystemGetCudaDriverVersion(int *version) { *version = cuda_version; return SUCCESS; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = cuda_version; return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = gpu_count; return SUCCESS; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu_t **gpu) {
    if (index >= gpu_count)
        return INVALID_ARGUMENT;
    *gpu = &gpus[index];
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, gpu_t **gpu) {
    for (unsigned index = 0; index < gpu_count; index++)
        if (strcmp(gpus[index].uuid, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2(index, gpu);
    return NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, gpu_t **gpu) {
    for (unsigned index = 0; index < gpu_count; index++)
        if (strcasecmp(gpus[index].bus_id, bus_id) == 0 || strcasecmp(gpus[index].bus_id + 4, bus_id) == 0)
            return nvmlDeviceGetHandleByIndex_v2(index, gpu);
    return NOT_FOUND;
}

int nvmlDeviceGetName(gpu_t *gpu, char *name, unsigned length) { return text(name, length, gpu->name); }
int nvmlDeviceGetUUID(gpu_t *gpu, char *uuid, unsigned length) { return text(uuid, length, gpu->uuid); }
int nvmlDeviceGetIndex(gpu_t *gpu, unsigned *index) { *index = gpu->index; return SUCCESS; }
int nvmlDeviceGetMinorNumber(gpu_t *gpu, unsigned *minor) { *minor = gpu->index; return SUCCESS; }

int nvmlDeviceGetCudaComputeCapability(gpu_t *gpu, int *major, int *minor) {
    *major = gpu->major;
    *minor = gpu->minor;
    return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(gpu_t *gpu, pci_t *pci) {
    memset(pci, 0, sizeof *pci);
    sscanf(gpu->bus_id, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
    text(pci->bus_id_legacy, sizeof pci->bus_id_legacy, gpu->bus_id + 4);
    text(pci->bus_id, sizeof pci->bus_id, gpu->bus_id);
    pci->pci_id = gpu->pci_id;
    pci->subsystem_id = gpu->subsystem_id;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(gpu_t *gpu, memory_t *memory) {
    memory->total = gpu->total_mib * MIB;
    memory->used = used_bytes(gpu);
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(gpu_t *gpu, memory_v2_t *memory) {
    memory->total = gpu->total_mib * MIB;
    memory->reserved = memory->total / 128;
    memory->used = used_bytes(gpu);
    memory->free = memory->total - memory->reserved - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetMemoryErrorCounter(gpu_t *gpu, int kind, int counter, int place, unsigned long long *errors) {
    *errors = 0;
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(gpu_t *gpu, utilization_t *rates) {
    rates->gpu = rates->memory = 0;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(gpu_t *gpu, int sensor, unsigned *celsius) {
    *celsius = used_bytes(gpu) ? BUSY_C : IDLE_C;
    return SUCCESS;
}

int nvmlDeviceGetPowerManagementDefaultLimit(gpu_t *gpu, unsigned *milliwatt) {
    *milliwatt = gpu->power_w * 1000;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(gpu_t *gpu, unsigned *milliwatt) {
    *milliwatt = gpu->power_w * (used_bytes(gpu) ? 720 : 100);
    return SUCCESS;
}
