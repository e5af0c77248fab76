//===- LauncherTest.cpp - Who started this process ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of launchers, and what they say about programs that run alone.
//===----------------------------------------------------------------------===//

#include "libs/launcher/Launcher.h"
#include "Variables.h"

#include "gtest/gtest.h"

using namespace gpuasync::ranks;
using gpuasync_test::Variables;

namespace {

/// "rank of count, local", or what is wrong.
std::string find() {
  Launched found;
  const std::string error = findLaunched(found);
  return error.empty() ? std::to_string(found.rank) + " of " +
                             std::to_string(found.count) + ", " +
                             std::to_string(found.local)
                       : error;
}

TEST(Launcher, None) {
  EXPECT_EQ(find(), "0 of 0, 0");
  EXPECT_EQ(findWhyNotAlone(), "");
  // Other tools set these, and a shell of Slurm is one task.
  const Variables variables{
      {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"SLURM_NTASKS", "4"}};
  EXPECT_EQ(find(), "0 of 0, 0");
  EXPECT_EQ(findWhyNotAlone(), "");
}

TEST(Launcher, OfMPI) {
  {
    Variables variables{{"OMPI_COMM_WORLD_RANK", "2"},
                        {"OMPI_COMM_WORLD_SIZE", "4"}};
    EXPECT_EQ(find(), "2 of 4, 2");
    variables.set("OMPI_COMM_WORLD_LOCAL_RANK", "1");
    EXPECT_EQ(find(), "2 of 4, 1");
  }
  {
    const Variables variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}};
    EXPECT_EQ(find(), "0 of 1, 0");
    EXPECT_EQ(findWhyNotAlone(), "");
  }
  {
    const Variables variables{{"PMIX_RANK", "3"},
                              {"SLURM_STEP_NUM_TASKS", "5"},
                              {"SLURM_LOCALID", "1"}};
    EXPECT_EQ(find(), "3 of 5, 1");
  }
  for (const char *rank : {"4", "-1", "x", "1x", "4294967296"}) {
    const Variables variables{{"PMI_RANK", rank}, {"PMI_SIZE", "4"}};
    EXPECT_EQ(find(), "0 of 0, 0") << rank;
    EXPECT_EQ(findWhyNotAlone(), "a launcher started this process, but "
                                 "PMI_RANK is '" +
                                     std::string(rank) +
                                     "', and PMI_SIZE is '4'; "
                                     "GPU_ASYNC_RANKS=1 lets each process run "
                                     "alone");
  }
  const Variables variables{{"PMIX_RANK", "1"}};
  EXPECT_EQ(findWhyNotAlone().substr(0, 72),
            "a launcher started this process, but PMIX_RANK is '1', and "
            "SLURM_STEP_NU");
}

// torchrun may be in a job of MPI, and a job of MPI in a process of torchrun.
TEST(Launcher, OneInTheOther) {
  Variables variables{{torchrunVariable, "0"},
                      {"RANK", "0"},
                      {"WORLD_SIZE", "1"},
                      {"PMI_RANK", "0"},
                      {"PMI_SIZE", "1"}};
  EXPECT_EQ(find(), "0 of 1, 0");
  EXPECT_EQ(findWhyNotAlone(), "");
  variables.set("PMI_SIZE", "3");
  const std::string both =
      "torchrun started one process, and a launcher of MPI 3; unset "
      "TORCHELASTIC_RESTART_COUNT if this is one of the latter, or set "
      "GPU_ASYNC_RANKS=1 to run alone";
  EXPECT_EQ(find(), both);
  EXPECT_EQ(findWhyNotAlone(), both);
  variables.set("WORLD_SIZE", "2");
  EXPECT_EQ(find(), "0 of 2, 0");
}

TEST(Launcher, OfTorch) {
  Variables variables{{torchrunVariable, "0"},
                      {"RANK", "3"},
                      {"WORLD_SIZE", "4"},
                      {"PMI_RANK", "0"},
                      {"PMI_SIZE", "2"}};
  EXPECT_EQ(find(), "3 of 4, 3");
  variables.set("LOCAL_RANK", "1");
  EXPECT_EQ(find(), "3 of 4, 1");
  variables.set("RANK", "4");
  const std::string wrong =
      "torchrun started this process (TORCHELASTIC_RESTART_COUNT is set), but "
      "RANK is '4', and WORLD_SIZE is '4'; for a program that runs alone, set "
      "GPU_ASYNC_RANKS=1";
  EXPECT_EQ(find(), wrong);
  EXPECT_EQ(findWhyNotAlone(), wrong);
  variables.set("GPU_ASYNC_RANKS", "1");
  EXPECT_EQ(find(), "0 of 0, 0");
  EXPECT_EQ(findWhyNotAlone(), "");
  variables.set("GPU_ASYNC_RANKS", "4");
  EXPECT_EQ(find(), "GPU_ASYNC_RANKS: '4' is not 1");
  EXPECT_EQ(findWhyNotAlone(), "GPU_ASYNC_RANKS: '4' is not 1");
}

TEST(Launcher, Alone) {
  {
    const Variables variables{{"OMPI_COMM_WORLD_RANK", "2"},
                              {"OMPI_COMM_WORLD_SIZE", "4"}};
    EXPECT_EQ(findWhyNotAlone(),
              "this process is rank 2 of 4 of its launcher, and its context is "
              "no rank; gpuasync_ranks_join makes it one, and "
              "GPU_ASYNC_RANKS=1 lets each process run alone");
  }
  Variables variables{{"SLURM_STEP_NUM_TASKS", "3"}};
  EXPECT_EQ(findWhyNotAlone().substr(0, 16), "srun started 3 p");
  variables.set("GPU_ASYNC_RANKS", "1");
  EXPECT_EQ(findWhyNotAlone(), "");
}

} // namespace
