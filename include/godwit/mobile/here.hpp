// Here: what running mobile code sees of its node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "godwit/mobile/call.hpp"
#include "godwit/mobile/ref.hpp"
#include "godwit/mobile/region.hpp"
#include "godwit/mobile_abi.h"

namespace godwit {

// New code for Here::build(): LLVM IR as text, or bitcode, that defines `function` with C linkage.
// mobile_abi.h says which parameters the signature asks for.
struct Build {
  std::string_view ir;
  std::string_view function;
  std::string_view signature;
};

// A bundle that build() made. Travels like any struct, so that others may call it too.
struct BuiltCode {
  CodeId id{};

  // The function of that name, as R(Args...). Borrows this object and the name.
  template <class Function>
  [[nodiscard]] FunctionRef<Function> function(std::string_view name) const& noexcept {
    return {.name = name, .bundle = &id};
  }
  template <class Function>
  FunctionRef<Function> function(std::string_view name) const&& = delete;
};
GODWIT_STRUCT(BuiltCode, id);

// The first parameter of an exported function. Its verbs may be called from any thread, until the
// function returns. Those marked [blocks] fail in a function exported with inline_.
class Here {
 public:
  explicit Here(const godwit_here_v1* table) noexcept : table_(table) {}
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;

  // The node this runs on.
  [[nodiscard]] Node self() const noexcept { return {table_->self(table_)}; }
  // The fleet's live nodes in order of their names, as many as fit; returns how many there are.
  std::size_t nodes(std::span<Node> found) const noexcept {
    static_assert(sizeof(Node) == sizeof(std::uint64_t));
    return table_->nodes(table_, found.empty() ? nullptr : &found.front().id, found.size());
  }
  // The node of that name, or none.
  [[nodiscard]] Node find_node(std::string_view name) const noexcept {
    return {table_->find_node(table_, name.data(), name.size())};
  }

  void debug(std::string_view text) const noexcept { log(GODWIT_LOG_DEBUG, text); }
  void info(std::string_view text) const noexcept { log(GODWIT_LOG_INFO, text); }
  void warn(std::string_view text) const noexcept { log(GODWIT_LOG_WARN, text); }
  void error(std::string_view text) const noexcept { log(GODWIT_LOG_ERROR, text); }

  // Until this call's deadline; negative once it passed.
  [[nodiscard]] std::int64_t remaining_ns() const noexcept { return table_->remaining_ns(table_); }
  // The caller gave up: nobody waits for the result.
  [[nodiscard]] bool cancelled() const noexcept { return table_->cancelled(table_) != 0; }
  [[nodiscard]] std::uint32_t hops_left() const noexcept { return table_->hops_left; }

  // The bundle that runs, for others to call its functions by. No code on a node that is too old.
  [[nodiscard]] CodeId own_code() const noexcept {
    CodeId id{};
    if (table_->size >= offsetof(godwit_here_v1, own_code) + sizeof table_->own_code) {
      table_->own_code(table_, id.data());
    }
    return id;
  }
  // A function of another bundle, its signature checked: R(Args...) without Here. The id came as an
  // argument (Fleet::offer), from another call or from build(). A bundle that this node does not
  // have is asked for where this call came from; that [blocks]. Returns 0 or a godwit::ErrorCode:
  // unknown_code (nobody who was asked has it), unknown_function, type_mismatch. Borrows both.
  template <class F>
  [[nodiscard]] std::int32_t try_function(const CodeId& code, std::string_view name,
                                          FunctionRef<F>& function) const noexcept {
    function = {.name = name, .bundle = &code};
    if (!checks_functions()) return detail::kUnsupported;
    constexpr std::string_view kSignature = signature_of<F>;
    const godwit_function_ref wanted = function.abi();
    return table_->check_function(table_, &wanted, kSignature.data(), kSignature.size());
  }
#ifdef __cpp_exceptions
  // The same; throws CallFailed.
  template <class F>
  [[nodiscard]] FunctionRef<F> function(const CodeId& code, std::string_view name) const {
    FunctionRef<F> found;
    const std::int32_t error = try_function(code, name, found);
    if (error != 0) {
      throw CallFailed(
          GODWIT_ENDED_REJECTED, static_cast<std::uint32_t>(error), false,
          checks_functions() ? last_error() : "this node is too old to call other bundles");
    }
    return found;
  }
#endif

  // Starts a call at `node`; the arguments are copied before this returns. A call that could not
  // be started says so when its outcome is asked for.
  //   here.call<norm>(node, samples)                                   a function of this bundle
  //   here.call(built.function<double(double)>("poly"), node, 0.5)     of another
  template <auto Function, class... Args>
  auto call(Node node, Args&&... args) const {
    return call(function_ref<Function>, node, std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  Pending<typename SignatureOf<F>::Result> call(FunctionRef<F> function, Node node,
                                                Args&&... args) const {
    std::uint64_t handle = 0;
    const std::int32_t error = start(function, node, 0, handle, std::forward<Args>(args)...);
    return {table_, error, handle};
  }

  // Starts a call whose end nobody waits for. Returns 0, or the godwit::ErrorCode that says why it
  // was not started.
  template <auto Function, class... Args>
  std::int32_t one_way(Node node, Args&&... args) const {
    return one_way(function_ref<Function>, node, std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  std::int32_t one_way(FunctionRef<F> function, Node node, Args&&... args) const {
    std::uint64_t handle = 0;
    return start(function, node, GODWIT_CALL_ONE_WAY, handle, std::forward<Args>(args)...);
  }

  // A call that begins at the home of an element once that has changed; `change.value_at` says
  // where in the arguments the element is put. ops::watch() is the typed form. The outcome is
  // unsupported on a node that is too old.
  template <class F, class... Args>
  Pending<typename SignatureOf<F>::Result> call_when(FunctionRef<F> function, Node node,
                                                     const godwit_change& change,
                                                     Args&&... args) const {
    std::uint64_t handle = 0;
    const godwit_function_ref target = function.abi();
    const std::int32_t error = detail::Arguments<SignatureOf<F>>::with_parts(
        [&](const godwit_bytes* parts, std::size_t count) {
          if (!knows_changes()) return detail::kUnsupported;
          return table_->call_when(table_, node.id, &change, &target, parts, count, &handle);
        },
        std::forward<Args>(args)...);
    return {table_, error, handle};
  }

  // The same call at each of `nodes`: calls[i] at nodes[i]. Both spans have the same size.
  template <auto Function, class... Args>
  void fan_out(std::span<const Node> nodes,
               std::span<Pending<typename SignatureOf<decltype(Function)>::Result>> calls,
               const Args&... args) const {
    for (std::size_t i = 0; i < nodes.size() && i < calls.size(); ++i) {
      calls[i] = call<Function>(nodes[i], args...);
    }
  }

  // This call goes on as Function at `node`: `return here.continue_at<chase>(node, at, hops);` in
  // a function that returns a Next of the same type.
  template <auto Function, class... Args>
  [[nodiscard]] auto continue_at(Node node, Args&&... args) const {
    return continue_at(function_ref<Function>, node, std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  [[nodiscard]] Hop<typename SignatureOf<F>::Result> continue_at(FunctionRef<F> function, Node node,
                                                                 Args&&... args) const {
    const godwit_function_ref target = function.abi();
    return {detail::Arguments<SignatureOf<F>>::with_parts(
        [&](const godwit_bytes* parts, std::size_t count) {
          return table_->continue_at(table_, node.id, &target, parts, count);
        },
        std::forward<Args>(args)...)};
  }

  // Sends this bundle, or one that was built, to `node` before it is needed there. Returns 0 or a
  // godwit::ErrorCode.
  std::int32_t spread(Node node) const noexcept { return table_->spread(table_, node.id, nullptr); }
  std::int32_t spread(Node node, const BuiltCode& code) const noexcept {
    return table_->spread(table_, node.id, code.id.data());
  }

  // [blocks] Makes a bundle out of IR. Returns 0 or a godwit::ErrorCode; last_error() explains it.
  [[nodiscard]] std::int32_t try_build(const Build& request, BuiltCode& code) const noexcept {
    const godwit_build_v1 abi{
        request.ir.data(),       request.ir.size(),        request.function.data(),
        request.function.size(), request.signature.data(), request.signature.size(),
    };
    return table_->build(table_, &abi, code.id.data());
  }
#ifdef __cpp_exceptions
  // [blocks] The same; throws CallFailed.
  [[nodiscard]] BuiltCode build(const Build& request) const {
    BuiltCode code;
    const std::int32_t error = try_build(request, code);
    if (error != 0) {
      throw CallFailed(GODWIT_ENDED_REJECTED, static_cast<std::uint32_t>(error), false,
                       last_error());
    }
    return code;
  }
#endif

  // The region of that name, whose elements are of type T: to be read, or read and written. Returns
  // 0 or a godwit::ErrorCode: not_found, type_mismatch, permission (sealed: nobody writes any
  // more), node_lost (this node had a shard, and has ended since). Wrap it in RegionView or
  // WritableRegion.
  template <class T>
  [[nodiscard]] std::int32_t try_region(std::string_view name, std::uint32_t rights,
                                        godwit_region_v1& region) const noexcept {
    if (!knows_regions()) return detail::kUnsupported;
    std::uint64_t id = 0;
    const std::int32_t error = table_->find_region(table_, name.data(), name.size(), &id);
    return error != 0 ? error : try_region<T>(id, rights, region);
  }
  template <class T>
  [[nodiscard]] std::int32_t try_region(std::uint64_t id, std::uint32_t rights,
                                        godwit_region_v1& region) const noexcept {
    if (!knows_regions()) return detail::kUnsupported;
    constexpr std::string_view kType = type_name<T>;
    region.size = sizeof region;
    return table_->region(table_, id, kType.data(), kType.size(), rights, &region);
  }
#ifdef __cpp_exceptions
  // The same by name or id; throws CallFailed.
  template <class T, class NameOrId>
  [[nodiscard]] RegionView<T> region(const NameOrId& which) const {
    return RegionView<T>(region_with<T>(which, GODWIT_REGION_READ));
  }
  template <class T, class NameOrId>
  [[nodiscard]] WritableRegion<T> writable_region(const NameOrId& which) const {
    return WritableRegion<T>(region_with<T>(which, GODWIT_REGION_READ | GODWIT_REGION_WRITE));
  }
#endif

  // The object that a handle names: the elements of a T[], or a pointer to a plain T. It stays as
  // it is until this call ends. An object of this node that is in memory is where it is; any other
  // is brought here, which [blocks]. Returns 0 or a godwit::ErrorCode: not_found (evicted, or its
  // lifetime is over), stale (that version is gone), type_mismatch, permission, node_lost (its home
  // is gone), would_block.
  template <class T>
  [[nodiscard]] std::int32_t try_resolve(const HandleOf<T[]>& handle,
                                         std::span<const T>& elements) const noexcept {
    return detail::resolve_into(table_, handle, elements);
  }
  template <class T>
  [[nodiscard]] std::int32_t try_resolve(const HandleOf<T>& handle,
                                         const T*& value) const noexcept {
    return detail::resolve_into(table_, handle, value);
  }
  // Makes an object of this node out of a plain value, or out of plain elements (a span, a vector).
  // Returns 0 or a godwit::ErrorCode: resource_exhausted, would_block (in a function exported with
  // inline_, if the node has no memory at hand).
  template <class V>
  [[nodiscard]] std::int32_t try_put(const V& value, const ObjectTerms& terms,
                                     HandleOf<detail::StoredBy<V>>& handle) const noexcept {
    return detail::put_bytes(table_, value, terms, handle);
  }
  // Keeps the promise of an object (Promise<T> in the program that made it), and all who wait for
  // it have it. Of another home this [blocks]. Returns 0 or a godwit::ErrorCode: already_exists
  // (the promise was kept, broken or cancelled before), and as try_resolve().
  template <class V>
  [[nodiscard]] std::int32_t try_fulfil(const HandleOf<detail::StoredBy<V>>& promised,
                                        const V& value) const noexcept {
    return detail::settle_with(table_, GODWIT_FULFIL, value, promised, nullptr);
  }
  // Breaks it: those who wait get this error.
  template <class T>
  [[nodiscard]] std::int32_t try_break_promise(const HandleOf<T>& promised, std::int32_t error,
                                               std::string_view why) const noexcept {
    return detail::break_promise(table_, &promised, error, why);
  }
  // Publishes the version after the one that `handle` names; `next` names it. Returns as
  // try_fulfil(), and: stale (somebody else has published one), borrowed.
  template <class V>
  [[nodiscard]] std::int32_t try_update(const HandleOf<detail::StoredBy<V>>& handle, const V& value,
                                        HandleOf<detail::StoredBy<V>>& next) const noexcept {
    return detail::settle_with(table_, GODWIT_UPDATE, value, handle, &next);
  }
#ifdef __cpp_exceptions
  // The same; throw CallFailed.
  template <class T>
  [[nodiscard]] std::span<const T> resolve(const HandleOf<T[]>& handle) const {
    std::span<const T> elements;
    check_object(try_resolve(handle, elements));
    return elements;
  }
  template <class T>
  [[nodiscard]] const T& resolve(const HandleOf<T>& handle) const {
    const T* value = nullptr;
    check_object(try_resolve(handle, value));
    return *value;
  }
  template <class V>
  [[nodiscard]] HandleOf<detail::StoredBy<V>> put(const V& value,
                                                  const ObjectTerms& terms = {}) const {
    HandleOf<detail::StoredBy<V>> handle;
    check_object(try_put(value, terms, handle));
    return handle;
  }
  template <class V>
  void fulfil(const HandleOf<detail::StoredBy<V>>& promised, const V& value) const {
    check_object(try_fulfil(promised, value));
  }
  template <class T>
  void break_promise(const HandleOf<T>& promised, std::int32_t error, std::string_view why) const {
    check_object(try_break_promise(promised, error, why));
  }
  template <class V>
  [[nodiscard]] HandleOf<detail::StoredBy<V>> update(const HandleOf<detail::StoredBy<V>>& handle,
                                                     const V& value) const {
    HandleOf<detail::StoredBy<V>> next;
    check_object(try_update(handle, value, next));
    return next;
  }
#endif

  // For godwit's own functions: answers the process that called about objects of this node, as
  // docs/protocol.md says; returns what the function has to return.
  [[nodiscard]] LeftToNode<std::span<const std::byte>> answer_about_objects(
      std::span<const std::byte> request) const noexcept {
    if (!knows_objects()) return {detail::kUnsupported};
    return {table_->answer_about_objects(table_, request.data(), request.size())};
  }

  // Explains this thread's last failed verb; valid until the next one.
  [[nodiscard]] std::string_view last_error() const noexcept { return table_->last_error(table_); }

  // The table itself, for verbs that have no C++ form.
  [[nodiscard]] const godwit_here_v1* table() const noexcept { return table_; }

 private:
  void log(std::int32_t level, std::string_view text) const noexcept {
    table_->log(table_, level, text.data(), text.size());
  }

  [[nodiscard]] bool knows_regions() const noexcept {
    return table_->size >= offsetof(godwit_here_v1, region) + sizeof table_->region;
  }
  [[nodiscard]] bool knows_changes() const noexcept {
    return table_->size >= offsetof(godwit_here_v1, call_when) + sizeof table_->call_when;
  }
  [[nodiscard]] bool knows_objects() const noexcept {
    return table_->size >=
           offsetof(godwit_here_v1, answer_about_objects) + sizeof table_->answer_about_objects;
  }
  [[nodiscard]] bool checks_functions() const noexcept {
    return table_->size >= offsetof(godwit_here_v1, check_function) + sizeof table_->check_function;
  }
#ifdef __cpp_exceptions
  void check_object(std::int32_t error) const {
    if (error == 0) return;
    std::string_view why = last_error();
    if (!detail::knows_handles(table_)) why = "this node is older than references in calls";
    if (error == detail::kBadFormat) why = "the object's bytes are not of its type";
    throw CallFailed(GODWIT_ENDED_APP_ERROR, static_cast<std::uint32_t>(error), false, why);
  }
  template <class T, class NameOrId>
  [[nodiscard]] godwit_region_v1 region_with(const NameOrId& which, std::uint32_t rights) const {
    godwit_region_v1 region{};
    const std::int32_t error = try_region<T>(which, rights, region);
    if (error != 0) {
      throw CallFailed(GODWIT_ENDED_APP_ERROR, static_cast<std::uint32_t>(error), false,
                       knows_regions() ? last_error() : "this node is older than regions");
    }
    return region;
  }
#endif

  template <class F, class... Args>
  std::int32_t start(FunctionRef<F> function, Node node, std::uint32_t flags, std::uint64_t& handle,
                     Args&&... args) const {
    const godwit_function_ref target = function.abi();
    return detail::Arguments<SignatureOf<F>>::with_parts(
        [&](const godwit_bytes* parts, std::size_t count) {
          return table_->call(table_, node.id, &target, parts, count, flags, &handle);
        },
        std::forward<Args>(args)...);
  }

  const godwit_here_v1* table_;
};

}  // namespace godwit
