#include "ops/matmul/rivals/onednn_api.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace rooftune::rivals {

// A memory descriptor of either version.
class DnnlApi::MemoryDesc {
 public:
  MemoryDesc(const DnnlApi& api, const DnnlTensor& tensor) : api_(api) {
    if (api.memory_desc_create_ != nullptr) {
      status_ = api.memory_desc_create_(&made_, tensor.axes, tensor.extents.data(), tensor.type,
                                        tensor.strides.data());
    } else {
      status_ = api.memory_desc_init_(plain_.data(), tensor.axes, tensor.extents.data(),
                                      tensor.type, tensor.strides.data());
    }
  }
  ~MemoryDesc() {
    if (made_ != nullptr) api_.memory_desc_destroy_(made_);
  }
  MemoryDesc(const MemoryDesc&) = delete;
  MemoryDesc& operator=(const MemoryDesc&) = delete;

  int status() const { return status_; }
  const void* get() const { return made_ != nullptr ? made_ : plain_.data(); }

 private:
  const DnnlApi& api_;
  int status_ = 0;
  void* made_ = nullptr;
  alignas(std::max_align_t) std::array<std::byte, 2048> plain_{};  // of 696 in version 2.6
};

Result<DnnlApi> DnnlApi::find_in(const Library& library) {
  DnnlApi api;
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = library.find<std::remove_reference_t<decltype(function)>>(name);
    if (function == nullptr && missing.empty()) missing = name;
  };
  find(api.version, "dnnl_version");
  find(api.engine_create, "dnnl_engine_create");
  find(api.engine_destroy, "dnnl_engine_destroy");
  find(api.stream_create, "dnnl_stream_create");
  find(api.stream_wait, "dnnl_stream_wait");
  find(api.stream_destroy, "dnnl_stream_destroy");
  find(api.memory_set, "dnnl_memory_set_data_handle");
  find(api.execute, "dnnl_primitive_execute");
  find(api.primitive_create_, "dnnl_primitive_create");
  find(api.primitive_destroy_, "dnnl_primitive_destroy");
  find(api.primitive_desc_destroy_, "dnnl_primitive_desc_destroy");
  find(api.primitive_desc_query_, "dnnl_primitive_desc_query");
  find(api.memory_create_, "dnnl_memory_create");
  find(api.memory_destroy_, "dnnl_memory_destroy");
  // 2.6 already exports a dnnl_matmul_primitive_desc_create, which only version 3 declares.
  if (missing.empty() && api.version()->major >= 3) {
    find(api.memory_desc_create_, "dnnl_memory_desc_create_with_strides");
    find(api.memory_desc_destroy_, "dnnl_memory_desc_destroy");
    find(api.matmul_desc_create_, "dnnl_matmul_primitive_desc_create");
  } else if (missing.empty()) {
    find(api.memory_desc_init_, "dnnl_memory_desc_init_by_strides");
    find(api.matmul_desc_init_, "dnnl_matmul_desc_init");
    find(api.primitive_desc_create_, "dnnl_primitive_desc_create");
  }
  if (!missing.empty()) {
    return fail(ErrorKind::unsupported, fmt::format("{} has no {}", library.file(), missing));
  }
  api.sgemm = library.find<decltype(api.sgemm)>("dnnl_sgemm");
  return api;
}

int DnnlApi::make_primitive_desc(DnnlEngine engine, const void* a, const void* b, const void* c,
                                 DnnlPrimitiveDesc* desc) const {
  if (matmul_desc_create_ != nullptr) {
    return matmul_desc_create_(desc, engine, a, b, nullptr, c, nullptr);
  }
  // Four memory descriptors and a little more.
  alignas(std::max_align_t) std::array<std::byte, 16384> matmul{};
  if (const int status = matmul_desc_init_(matmul.data(), a, b, nullptr, c)) return status;
  return primitive_desc_create_(desc, matmul.data(), nullptr, engine, nullptr);
}

int DnnlApi::make_matmul(DnnlEngine engine, const DnnlTensor& a, const DnnlTensor& b,
                         const DnnlTensor& c, Matmul& matmul) const {
  const MemoryDesc a_desc(*this, a), b_desc(*this, b), c_desc(*this, c);
  for (const MemoryDesc* desc : {&a_desc, &b_desc, &c_desc}) {
    if (desc->status() != kDnnlSuccess) return desc->status();
  }
  DnnlPrimitiveDesc desc = nullptr;
  int status = make_primitive_desc(engine, a_desc.get(), b_desc.get(), c_desc.get(), &desc);
  if (status != kDnnlSuccess) return status;
  // The reference implementation is plain loops, there to be right: no rival.
  const char* name = nullptr;
  if (primitive_desc_query_(desc, kDnnlImplementationName, 0, static_cast<void*>(&name)) ==
          kDnnlSuccess &&
      name != nullptr && std::string_view(name).starts_with("ref")) {
    status = kDnnlUnimplemented;
  }
  if (status == kDnnlSuccess) status = primitive_create_(&matmul.primitive, desc);
  primitive_desc_destroy_(desc);
  for (const auto& [memory, of] : {std::pair(&matmul.a, &a_desc), std::pair(&matmul.b, &b_desc),
                                   std::pair(&matmul.c, &c_desc)}) {
    if (status == kDnnlSuccess) status = memory_create_(memory, of->get(), engine, nullptr);
  }
  if (status != kDnnlSuccess) {
    destroy(matmul);
    matmul = {};
  }
  return status;
}

void DnnlApi::destroy(const Matmul& matmul) const {
  for (DnnlMemory memory : {matmul.a, matmul.b, matmul.c}) {
    if (memory != nullptr) memory_destroy_(memory);
  }
  if (matmul.primitive != nullptr) primitive_destroy_(matmul.primitive);
}

}  // namespace rooftune::rivals
