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
  const Variables variables{{"RANK", "1"},
                            {"WORLD_SIZE", "4"},
                            {"PMIX_RANK", "0"},
                            {"SLURM_NTASKS", "4"}};
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
  }
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
