# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# lit configuration of the compiler tests. `ctest -L compiler` runs them all;
# one file: lit -v <build>/test/IR/ops.mlir

import ctypes
import os
import re
import shutil
import subprocess
import sys

import lit.formats
import lit.util

config.name = "gpu-async"
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
import service_test  # noqa: E402: lit pickles the class, so it is in a module

config.test_format = service_test.ServiceTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.gpuasync_obj_root, "test")
# runtime/ is gtest, embed/ a project of its own; Inputs/ hold what tests read.
config.excludes = ["Inputs", "runtime", "embed", "CMakeLists.txt"]

bin_dir = os.path.join(config.gpuasync_obj_root, "bin")
path = [bin_dir, config.llvm_tools_dir, config.environment.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)
config.environment["FILECHECK_OPTS"] = "-enable-var-scope -dump-input-filter=annotation"

# A hang ends (test/Inputs/TimeLimit.h). lit needs psutil for that.
if lit.util.killProcessAndChildrenIsSupported()[0]:
    lit_config.maxIndividualTestTime = int(600 * float(os.environ.get("GPU_ASYNC_TEST_SLOWNESS", 1)))

# Tests must not depend on the caller's settings of the runtime, nor on a CUDA
# toolkit; what a sanitizer needs is passed on.
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH",
             "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Runs repeat each other: other seeds are for `./dev fuzz --tests`.
seed = os.environ.get("GPU_ASYNC_TEST_SEED") or "20261127"
schedule = os.environ.get("GPU_ASYNC_CPU_SCHEDULE") or "adversarial:" + seed
for name in list(config.environment):
    if name.startswith(("GPU_ASYNC_", "GPUASYNC_")) or name in ("CUDA_HOME", "CUDA_ROOT", "CUDA_PATH"):
        del config.environment[name]
# The cpu device runs under an adversarial schedule: docs/reference/Testing.md.
config.environment["GPU_ASYNC_CPU_SCHEDULE"] = schedule
config.environment["GPU_ASYNC_TEST_SEED"] = seed
lit_config.note("GPU_ASYNC_TEST_SEED=%s GPU_ASYNC_CPU_SCHEDULE=%s" % (seed, schedule))
# Every call gets this limit, in seconds: results may not depend on it.
if os.environ.get("GPU_ASYNC_TEST_TIMEOUT"):
    config.environment["GPU_ASYNC_TIMEOUT"] = os.environ["GPU_ASYNC_TEST_TIMEOUT"]
# Nor on what earlier runs left; tests of the cache name a folder of their own.
config.environment["GPU_ASYNC_CACHE"] = "off"


# Tools are named by absolute path, so that a tool of the same name elsewhere on
# PATH is never tested by mistake.
def tool(name, folders):
    found = shutil.which(name, path=os.pathsep.join(folders))
    config.substitutions.append((r"(?<![-\w/.])%s(?![-\w/.])" % re.escape(name), found or name))
    return found


tool("gpu-opt", [bin_dir])
runner = tool("gpu-runner", [bin_dir])
tool("order-judge", [os.path.join(config.gpuasync_obj_root, "test", "bin")])
tool("runtime-gpu-ranks-tests", [os.path.join(config.gpuasync_obj_root, "test", "bin")])
for name in ("FileCheck", "not", "count", "split-file", "mlir-runner", "mlir-translate",
             "llvm-nm", "llvm-objdump", "llvm-readelf", "opt", "llc"):
    tool(name, [config.llvm_tools_dir])
if tool("mlir-opt", [config.llvm_tools_dir]):
    config.available_features.add("mlir-opt")
config.substitutions.append(("%python", '"%s"' % config.python))
config.substitutions.append(("%examples", os.path.join(config.gpuasync_src_root, "examples")))
config.substitutions.append(("%bench", os.path.join(config.gpuasync_src_root, "bench")))
config.substitutions.append(("%bin", bin_dir))
config.substitutions.append(("%llvm_lib", os.path.join(os.path.dirname(config.llvm_tools_dir), "lib")))
config.substitutions.append(("%gpuasync_include", os.path.join(config.gpuasync_src_root, "runtime", "include")))
config.substitutions.append(("%gpuasync_lib", os.path.join(config.gpuasync_obj_root, "lib")))

if runner:
    config.available_features.add("gpu-runner")
    try:
        listing = subprocess.run([runner, "--list-devices"], capture_output=True, text=True, timeout=60)
        if listing.returncode == 0 and re.search(r"^\s*cuda(:\d+)?\b(?!.*unavailable)", listing.stdout, re.M):
            config.available_features.add("cuda")
        # Copies of tensors by the engine of Hopper and later chips.
        if any(int(chip) >= 90 for chip in re.findall(r"^\s*cuda.*\bsm_(\d+)", listing.stdout, re.M)):
            config.available_features.add("tma")
    except (OSError, subprocess.TimeoutExpired) as error:
        lit_config.warning("gpu-runner --list-devices: %s" % error)
config.substitutions.append(("%mlir_lib", os.path.join(os.path.dirname(config.llvm_tools_dir), "lib")))
if any(shutil.which(name, path=config.environment["PATH"]) for name in ("ld.lld-22", "ld.lld", "ld")):
    config.available_features.add("linker")
c_compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang", "clang-22"))), None)
if c_compiler:
    config.available_features.add("cc")
    config.substitutions.append(("%cc", c_compiler))
if shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas"):
    config.available_features.add("ptxas")
# Launchers of MPI, each with the words before the number of processes. Tests may run as root,
# and on fewer processors than processes. A launcher that starts nothing here is left out.
config.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
for name, launcher in {"openmpi": "mpirun.openmpi --oversubscribe", "mpich": "mpiexec.hydra"}.items():
    if shutil.which(launcher.split()[0]):
        try:
            started = subprocess.run(launcher.split() + ["-n", "2", "true"], env=dict(os.environ, **config.environment),
                                     capture_output=True, text=True, timeout=60)
            if started.returncode == 0:
                config.available_features.add(name)
            else:
                lit_config.warning("%s starts no processes: %s" % (launcher, started.stderr[-500:]))
        except subprocess.TimeoutExpired:
            lit_config.warning("%s starts no processes in 60 s" % launcher)
config.substitutions.append(("%openmpi_survive", "mpirun.openmpi --oversubscribe --enable-recovery -n"))
config.substitutions.append(("%openmpi", "mpirun.openmpi --oversubscribe -n"))
config.substitutions.append(("%mpich", "mpiexec.hydra -n"))
# As torchrun starts processes, without PyTorch.
launch = config.python + " " + os.path.join(os.path.dirname(__file__), "Integration", "ranks", "Inputs", "launch.py")
config.substitutions.append(("%torchrun_survive", launch + " --survive -n"))
config.substitutions.append(("%torchrun", launch + " -n"))
mock_cuda = os.path.join(config.gpuasync_obj_root, "test", "bin", "libmock_cuda.so")
if shutil.which("pkg-config"):
    config.available_features.add("pkg-config")
config.substitutions.append(("%mock_cuda", mock_cuda))
if os.path.exists(mock_cuda):
    config.available_features.add("mock-cuda")
config.substitutions.append(("%fake_cublaslt", os.path.join(config.gpuasync_obj_root, "test", "bin", "libfake_cublaslt.so")))
# Where there is one, as libgpuasync_blas.so looks for it.
for name in ("libopenblas.so.0", "libopenblas.so", "libcblas.so.3", "libblas.so.3"):
    try:
        if hasattr(ctypes.CDLL(name), "cblas_sgemm"):
            config.available_features.add("cblas")
            config.substitutions.append(("%cblas", name))
        break
    except OSError:
        continue
for name in ("libopenblas.so.0", "liblapack.so.3", "libopenblas.so", "liblapack.so"):
    try:
        if hasattr(ctypes.CDLL(name), "dgesdd_"):
            config.available_features.add("lapack")
            config.substitutions.append(("%lapack", name))
        break
    except OSError:
        continue
config.substitutions.append(("%test_calls", os.path.join(config.gpuasync_obj_root, "test", "bin", "libtest_calls.so")))
config.substitutions.append(("%test_no_memory", os.path.join(config.gpuasync_obj_root, "test", "bin", "libtest_no_memory.so")))
config.substitutions.append(("%test_no_threads", os.path.join(config.gpuasync_obj_root, "test", "bin", "libtest_no_threads.so")))
if shutil.which("ld.lld-22") or shutil.which("ld.lld") or os.path.exists(os.path.join(config.llvm_tools_dir, "ld.lld")):
    config.available_features.add("lld")
if os.path.exists("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/oclc_isa_version_90a.bc"):
    config.available_features.add("rocm-device-libs")
if subprocess.run([config.python, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0:
    config.available_features.add("numpy")
if config.gpuasync_sanitize:
    config.available_features.add("sanitizer")
# Services that a runtime without services lacks: docs/reference/Runtime.md#without-services.
if config.gpuasync_services == "all":
    config.available_features.update("service-" + name for name in service_test.SERVICES)
# How many of each kind test/Fuzz draws: with a sanitizer, by default, and in the suite
# `deep`. More by ./dev fuzz.
depth = 0 if config.gpuasync_sanitize else 2 if os.environ.get("GPU_ASYNC_TEST_DEEP") else 1
for name, counts in {"programs": (10, 50, 125), "checked": (12, 60, 200), "kernels": (10, 30, 60), "races": (3, 5, 10),
                     "linalg": (8, 32, 96), "scalars": (16, 64, 320), "mutants": (100, 300, 600), "defects": (0, 22, 44),
                     "ranks": (8, 40, 120), "processes": (0, 4, 20)}.items():
    config.substitutions.append(("%%fuzz_%s" % name, str(counts[depth])))
