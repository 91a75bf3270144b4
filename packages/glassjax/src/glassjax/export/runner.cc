// Runs a program that glassjax saved, by a PJRT plugin, without Python.
//
//     c++ -std=c++17 -O2 runner.cc -o runner -ldl
//     ./runner PLUGIN.so DIRECTORY [INPUT.npy ...] > output.bin
//
// `manifest.txt` in the directory has a line for each argument of the program: `argument`, the
// number of its dtype in PJRT, its size in bytes, its rank, its shape, and the file in `weights`
// that holds it, or `-` for the next INPUT. The numbers of the results follow each other.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

// The part of the PJRT C API that is used here. Its functions are at fixed places in a table, and
// each takes one struct, which begins with its own size and a pointer to extensions.
namespace pjrt {

enum Function {  // places in the table
  kErrorMessage = 1,
  kPluginInitialize = 3,
  kEventAwait = 8,
  kClientCreate = 10,
  kAddressableDevices = 16,
  kCompile = 20,
  kBufferFromHost = 22,
  kNumOutputs = 44,
  kGetExecutable = 51,
  kExecute = 55,
  kToHost = 70,
};

struct Head {
  size_t size;
  void* extensions = nullptr;
};
struct Api {
  Head head;
  struct {
    Head head;
    int major, minor;
  } version;
  void* (*functions[71])(void*);
};
struct ErrorMessage : Head { void* error; const char* text; size_t text_size; };
struct PluginInitialize : Head {};
struct EventAwait : Head { void* event; };
struct ClientCreate : Head {
  void *options, *num_options, *callbacks[4];
  void* client;
  void* more_callbacks[2];
};
struct AddressableDevices : Head { void* client; void** devices; size_t count; };
struct Program : Head { char* code; size_t code_size; const char* format; size_t format_size; };
struct Compile : Head {
  void* client;
  Program* program;
  const char* options;
  size_t options_size;
  void* executable;
};
struct BufferFromHost : Head {
  void* client;
  const void* data;
  int type;
  const int64_t* dims;
  size_t num_dims;
  void *strides, *num_strides;
  int semantics;  // 0: the data are copied before the function returns
  void *device, *memory, *layout;
  void *done, *buffer;
};
struct GetExecutable : Head { void *loaded, *executable; };
struct NumOutputs : Head { void* executable; size_t count; };
struct ExecuteOptions : Head { void* rest[16]; };
struct Execute : Head {
  void* executable;
  ExecuteOptions* options;
  void*** arguments;
  size_t num_devices, num_arguments;
  void*** outputs;
  void **events, *device;
};
struct ToHost : Head { void *source, *layout, *target; size_t target_size; void* event; };

Api* api;

// Calls a function; an error ends the program.
template <class Args>
Args& Call(Function function, Args& args) {
  args.size = sizeof(Args);
  if (void* error = api->functions[function](&args)) {
    ErrorMessage message{};
    message.size = sizeof message;
    message.error = error;
    api->functions[kErrorMessage](&message);
    std::cerr << std::string(message.text, message.text_size) << "\n";
    std::exit(1);
  }
  return args;
}

void Await(void* event) {
  EventAwait args{};
  args.event = event;
  Call(kEventAwait, args);
}

}  // namespace pjrt

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << "cannot read " << path << "\n";
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: runner PLUGIN.so DIRECTORY [INPUT.npy ...] > output.bin\n";
    return 2;
  }
  const std::string directory = std::string(argv[2]) + "/";
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* get_api = library ? dlsym(library, "GetPjrtApi") : nullptr;
  if (!get_api) {
    std::cerr << dlerror() << "\n";
    return 1;
  }
  pjrt::api = reinterpret_cast<pjrt::Api* (*)()>(get_api)();

  pjrt::PluginInitialize initialize{};
  pjrt::Call(pjrt::kPluginInitialize, initialize);
  pjrt::ClientCreate create{};
  void* client = pjrt::Call(pjrt::kClientCreate, create).client;
  pjrt::AddressableDevices devices{};
  devices.client = client;
  void* device = pjrt::Call(pjrt::kAddressableDevices, devices).devices[0];

  std::string code = Read(directory + "program.mlirbc"), options = Read(directory + "options.pb");
  pjrt::Program program{};
  program.size = sizeof program;
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  pjrt::Compile compile{};
  compile.client = client;
  compile.program = &program;
  compile.options = options.data();
  compile.options_size = options.size();
  void* executable = pjrt::Call(pjrt::kCompile, compile).executable;

  std::vector<void*> arguments;
  int input = 3;
  std::istringstream lines(Read(directory + "manifest.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string role;
    if (!(words >> role) || role != "argument") continue;
    int type;
    size_t size, rank;
    words >> type >> size >> rank;
    std::vector<int64_t> dims(rank);
    for (int64_t& dim : dims) words >> dim;
    std::string file;
    words >> file;
    if (file == "-" && input == argc) {
      std::cerr << "an input is missing: " << line << "\n";
      return 1;
    }
    const std::string path = file == "-" ? argv[input++] : directory + "weights/" + file;
    const std::string data = Read(path);
    if (data.size() < size || data.compare(0, 6, "\x93NUMPY")) {
      std::cerr << path << " is not an array of " << size << " bytes\n";
      return 1;
    }
    pjrt::BufferFromHost from_host{};
    from_host.client = client;
    from_host.data = data.data() + data.size() - size;  // after the header
    from_host.type = type;
    from_host.dims = dims.data();
    from_host.num_dims = rank;
    from_host.device = device;
    arguments.push_back(pjrt::Call(pjrt::kBufferFromHost, from_host).buffer);
    pjrt::Await(from_host.done);
  }

  pjrt::GetExecutable get{};
  get.loaded = executable;
  pjrt::NumOutputs num_outputs{};
  num_outputs.executable = pjrt::Call(pjrt::kGetExecutable, get).executable;
  std::vector<void*> outputs(pjrt::Call(pjrt::kNumOutputs, num_outputs).count);
  void **argument_list = arguments.data(), **output_list = outputs.data(), *finished = nullptr;
  pjrt::ExecuteOptions execute_options{};
  execute_options.size = sizeof execute_options;
  pjrt::Execute execute{};
  execute.executable = executable;
  execute.options = &execute_options;
  execute.arguments = &argument_list;
  execute.num_devices = 1;
  execute.num_arguments = arguments.size();
  execute.outputs = &output_list;
  execute.events = &finished;
  pjrt::Call(pjrt::kExecute, execute);
  pjrt::Await(finished);

  for (void* output : outputs) {
    pjrt::ToHost to_host{};
    to_host.source = output;
    const size_t size = pjrt::Call(pjrt::kToHost, to_host).target_size;  // asked with no target
    std::vector<char> data(size);
    to_host.target = data.data();
    pjrt::Call(pjrt::kToHost, to_host);
    pjrt::Await(to_host.event);
    std::fwrite(data.data(), 1, size, stdout);
  }
}
