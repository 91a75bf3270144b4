// Foreign functions that test_ffi.py compiles and calls.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using OutF32 = ffi::ResultBuffer<ffi::F32>;

static int64_t calls = 0;
extern "C" int64_t number_of_calls() { return calls; }

// The bytes of x, in the order in which they lie in memory.
static ffi::Error Raw(F32 x, OutF32 out) {
  std::memcpy(out->typed_data(), x.typed_data(), out->size_bytes());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(raw, Raw, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

// The shapes of x and y as digits, everywhere.
static double Digits(F32 x) {
  double digits = 0;
  for (auto size : x.dimensions()) digits = 10 * digits + size;
  return digits;
}
static ffi::Error Shapes(F32 x, F32 y, OutF32 out) {
  for (size_t i = 0; i < out->element_count(); ++i)
    out->typed_data()[i] = 1000 * Digits(x) + Digits(y);
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(shapes, Shapes, ffi::Ffi::Bind().Arg<F32>().Arg<F32>().Ret<F32>());

// Adds one to what its result holds, which is x if they share memory, and counts its calls.
static ffi::Error Increase(F32 x, OutF32 out) {
  ++calls;
  for (size_t i = 0; i < out->element_count(); ++i) out->typed_data()[i] += 1;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(increase, Increase, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

// Counts its calls, and returns nothing.
static ffi::Error Count() {
  ++calls;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(count, Count, ffi::Ffi::Bind());

static ffi::Error Fail() { return ffi::Error::InvalidArgument("this function fails"); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(fail, Fail, ffi::Ffi::Bind());

// Its attributes as numbers.
static ffi::Error Attributes(ffi::Result<ffi::Buffer<ffi::F64>> out, int64_t i, double f, bool b,
                             std::string_view s, float f32, uint8_t u8,
                             ffi::Span<const int32_t> xs, ffi::Dictionary d) {
  double numbers[] = {double(i), f, double(b), double(s.size()), f32, double(u8), 0, 0};
  for (auto x : xs) numbers[6] = 10 * numbers[6] + x;
  auto inner = d.get<int64_t>("inner");
  if (!inner.has_value()) return inner.error();
  numbers[7] = double(*inner);
  std::memcpy(out->typed_data(), numbers, sizeof(numbers));
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(attributes, Attributes,
                              ffi::Ffi::Bind()
                                  .Ret<ffi::Buffer<ffi::F64>>()
                                  .Attr<int64_t>("i")
                                  .Attr<double>("f")
                                  .Attr<bool>("b")
                                  .Attr<std::string_view>("s")
                                  .Attr<float>("f32")
                                  .Attr<uint8_t>("u8")
                                  .Attr<ffi::Span<const int32_t>>("xs")
                                  .Attr<ffi::Dictionary>("d"));

// A state that is made when a program is compiled.
struct Start {
  static ffi::TypeId id;
  float value;
};
ffi::TypeId Start::id = {};
static ffi::TypeInfo start_info = ffi::MakeTypeInfo<Start>();
extern "C" void* start_type_id() { return &Start::id; }
extern "C" void* start_type_info() { return &start_info; }

static ffi::ErrorOr<std::unique_ptr<Start>> MakeStart(float value) {
  return std::make_unique<Start>(Start{value});
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    make_start, MakeStart,
    ffi::Ffi::Bind<ffi::ExecutionStage::kInstantiate>().Attr<float>("value"));

static ffi::Error FromStart(OutF32 out, Start* start, float value) {
  for (size_t i = 0; i < out->element_count(); ++i) out->typed_data()[i] = start->value + i;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    from_start, FromStart,
    ffi::Ffi::Bind().Ret<F32>().Ctx<ffi::State<Start>>().Attr<float>("value"));

// A function of the interface before: x + the length of a text.
extern "C" void plain(void* out, const void** in, const char* text, size_t length, void* status) {
  *static_cast<float*>(out) = *static_cast<const float*>(in[0]) + length;
}
