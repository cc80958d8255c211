// The pieces of an object that is pinned at its home, as calls of this process bring them.
#pragma once

#include <array>
#include <cstdint>

#include "godwit/call_handle.hpp"
#include "godwit/handle.hpp"
#include "ref/access/access.hpp"
#include "ref/access/pieces.hpp"
#include "wire/object.hpp"

namespace godwit::ref {

// Has the pin that `found` names, and gives it back in the end. The access outlives it.
class HomePieces final : public PieceSource {
 public:
  HomePieces(ObjectAccess& access, const Handle& handle, const wire::ObjectAnswer& found);
  ~HomePieces() override;
  HomePieces(const HomePieces&) = delete;
  HomePieces& operator=(const HomePieces&) = delete;

  void ask(std::size_t slot, const ByteRange& bytes, Duration at_most) override;
  bool wait(std::size_t slot, Duration at_most) override;
  [[nodiscard]] Result<ArrivedPiece> answer(std::size_t slot) override;
  [[nodiscard]] Buffer keep(std::size_t slot) override;
  [[nodiscard]] Status find_again(Duration at_most) override;
  void pause(Duration time) override;
  [[nodiscard]] Time now() const override;

 private:
  ObjectAccess& access_;
  const Asking asking_;
  const Handle handle_;
  const std::uint64_t version_;
  const std::uint64_t size_;
  std::uint64_t pin_;
  std::array<detail::CallHandle, Pieces::kUnderWay> calls_;
};

}  // namespace godwit::ref
