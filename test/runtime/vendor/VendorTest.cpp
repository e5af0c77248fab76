//===- VendorTest.cpp - A vendor from outside of the runtime --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the list of vendors where it is longer: names of devices and formats,
// the choice of a device, messages.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "FreshProcess.h"
#include "vendor/Imaginary.h"

using namespace gpuasync;
using namespace gpuasync_test;

namespace {

std::string deviceOf(const Context &context) {
  return gpuasync_context_device(context.get());
}

TEST(Vendors, TheListEndsWithTheImaginaryOne) {
  std::vector<std::string> names;
  for (uint32_t i = 0; const Vendor *vendor = vendorAt(i); ++i) {
    names.push_back(vendor->name);
    EXPECT_EQ(vendorNamed(vendor->name), vendor);
    EXPECT_STREQ(vendor->driver().name(), vendor->name);
    EXPECT_EQ(&vendor->driver(), &vendor->driver());
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"cuda", "hip", "cpu", "imaginary"}));
  EXPECT_EQ(vendorAt(100), nullptr);
  EXPECT_EQ(vendorNamed("cud"), nullptr);
}

TEST(Vendors, FormatsHaveNames) {
  EXPECT_EQ(formatName(GPUASYNC_IMAGE_CPU), "cpu");
  EXPECT_EQ(formatName(GPUASYNC_IMAGE_PTX), "PTX");
  EXPECT_EQ(formatName(GPUASYNC_IMAGE_CUBIN), "cubin");
  EXPECT_EQ(formatName(GPUASYNC_IMAGE_HSACO), "hsaco");
  EXPECT_EQ(formatName(GPUASYNC_IMAGE_FATBIN), "fatbin");
  EXPECT_EQ(formatName(GPUASYNC_IMAGE_DATA), "data");
  EXPECT_EQ(formatName(imaginaryFormat), "figment");
  EXPECT_EQ(formatName(imaginaryFormat + 1),
            "format " + std::to_string(imaginaryFormat + 1));
}

// A number that two vendors give to different formats would mix their images.
TEST(Vendors, EachFormatHasOneMeaning) {
  for (uint32_t i = 0; const Vendor *vendor = vendorAt(i); ++i)
    for (uint32_t j = 0; j < vendor->formatCount; ++j) {
      const ImageFormat &format = vendor->formats[j];
      EXPECT_STREQ(findFormat(format.number)->name, format.name);
      EXPECT_EQ(findFormat(format.number)->isFunctionTable,
                format.isFunctionTable);
    }
}

TEST(Vendors, DevicesHaveNames) {
  Context context;
  for (auto &[asked, is] : {std::make_pair("imaginary", "imaginary:0"),
                            std::make_pair("imaginary:1", "imaginary:1"),
                            std::make_pair("cpu", "cpu")}) {
    Status status = Context::open(asked, context);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(deviceOf(context), is);
  }
  Status status = Context::open("imaginary:2", context);
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNAVAILABLE));
  EXPECT_STREQ(status.message(),
               "there is no device imaginary:2; imaginary has 2");
  status = Context::open("imaginery", context);
  EXPECT_STREQ(status.message(),
               "'imaginery' is no device; use auto, cpu, cuda, cuda:N, hip, "
               "hip:N, imaginary or imaginary:N");
  gpuasync_context *adopted = nullptr;
  status = Status(gpuasync_context_adopt("imagine", &context, &adopted));
  EXPECT_STREQ(status.message(),
               "'imagine' is no driver; use cuda, hip, cpu or imaginary");
}

TEST(Vendors, DevicesAreListed) {
  std::vector<std::string> names;
  gpuasync_device_list(
      [](void *user, const char *device, const char *name, const char *arch,
         uint64_t, const char *) {
        if (arch == std::string("img_1"))
          static_cast<std::vector<std::string> *>(user)->push_back(
              std::string(device) + ", " + name);
      },
      &names);
  EXPECT_EQ(names,
            (std::vector<std::string>{"imaginary:0, imaginary device 0",
                                      "imaginary:1, imaginary device 1"}));
}

// A process keeps the devices that it chose.
FRESH_PROCESS_TEST(Vendors, AProgramRunsOnTheVendorThatReadsItsImages) {
  auto deviceOfDefault = [](TestProgram &program) -> std::string {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 1), out = 0;
    frame.launch(stream, Store, 1, 1, detail::StoreParams{x, 42});
    frame.copy(stream, &out, x, sizeof(out));
    frame.dealloc(stream, x);
    frame.wait({stream});
    frame.destroy(stream);
    EXPECT_EQ(out, 42u);
    return gpuasync_thread_driver();
  };
  TestProgram imaginary(TestProgram::More),
      both(TestProgram::Cpu | TestProgram::More);
  EXPECT_EQ(deviceOfDefault(imaginary), "imaginary");
  EXPECT_EQ(deviceOfDefault(both), "cpu");
  return testing::Test::HasFailure();
}

TEST(Vendors, ImagesOfOthersAreRefused) {
  TestProgram imaginary(TestProgram::More), cpu(TestProgram::Cpu);
  auto refusal = [](const char *device, TestProgram &program) {
    Context context;
    EXPECT_TRUE(Context::open(device, context).ok());
    ContextScope scope(context);
    FrameScope frame(program);
    return std::string(frame.leave().message());
  };
  EXPECT_NE(refusal("cpu", imaginary).find("figment img_1: not for the cpu"),
            std::string::npos)
      << refusal("cpu", imaginary);
  EXPECT_NE(refusal("imaginary", cpu).find("cpu: not for imaginary devices"),
            std::string::npos)
      << refusal("imaginary", cpu);
  // The vendor reads the bytes, not the core.
  const std::string bytes(imaginary.images[0].size, 'x');
  imaginary.images[0].data = bytes.data();
  imaginary.images[0].hash[0] = 1;
  EXPECT_NE(refusal("imaginary", imaginary).find("this is no imaginary image"),
            std::string::npos)
      << refusal("imaginary", imaginary);
}

// Nobody's format: no vendor may run it, and the message gives the number.
TEST(Vendors, AFormatOfNobodyIsRefused) {
  TestProgram program(TestProgram::Cpu);
  program.images[0].format = imaginaryFormat + 1;
  FrameScope frame(program);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_NOT_FOUND));
  EXPECT_NE(std::string(status.message())
                .find("imaginary: the program has no image for it"),
            std::string::npos)
      << status.message();
}

} // namespace
