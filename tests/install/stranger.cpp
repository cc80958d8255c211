// Uses the installed headers and the installed library; says what it got.
#include <cstdio>

#include <godwit/error.hpp>

int main() {
  const godwit::Result<int> failed =
      tl::unexpected(godwit::Error{godwit::ErrorCode::not_found, "nobody is home"});
  const std::string_view name = godwit::to_string(failed.error().code);
  std::printf("libgodwit says: %.*s\n", static_cast<int>(name.size()), name.data());
  return name == "not_found" ? 0 : 1;
}
