// Mobile code: what each round of federated learning does, where the data is.
//
// Every worker has samples of its own that never leave it; here they are made up on the spot, from
// the worker's number. The model is what a worker is given, improves on its samples, and returns.
#include <godwit/mobile.hpp>
#include <godwit/mobile/vector.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace federated {

using Model = std::vector<double>;

// The i-th of the parameters that would suit this worker's samples best.
static double wanted(std::uint64_t worker, std::uint64_t i) {
  std::uint64_t bits = (worker * 0x9E3779B97F4A7C15U) ^ (i * 0xBF58476D1CE4E5B9U);
  bits ^= bits >> 31U;
  return static_cast<double>(bits % 1'000'003) / 1'000'003;
}

static Model improved(std::span<const double> model, std::uint64_t worker) {
  constexpr double kRate = 0.5;
  Model next(model.begin(), model.end());
  for (std::uint64_t i = 0; i < next.size(); ++i) next[i] += kRate * (wanted(worker, i) - next[i]);
  return next;
}

// By value: the model comes in, and a model goes out, through whoever called.
Model train(std::span<const double> model, std::uint64_t worker) {
  return improved(model, worker);
}
GODWIT_EXPORT(train);

// By reference: the same step, but its result stays here. The model may be a reference too: that is
// the caller's choice, and this function does not see a difference.
godwit::HandleOf<double[]> train_here(godwit::Here& here, std::span<const double> model,
                                      std::uint64_t worker) {
  const Model next = improved(model, worker);
  return here.put(std::span<const double>(next));
}
GODWIT_EXPORT(train_here);

// The mean of the workers' models, fetched from where they are.
godwit::HandleOf<double[]> average(godwit::Here& here,
                                   const std::vector<godwit::HandleOf<double[]>>& models) {
  Model mean;
  for (const auto& model : models) {
    const std::span<const double> one = here.resolve(model);
    mean.resize(one.size());
    for (std::size_t i = 0; i < one.size(); ++i) mean[i] += one[i];
  }
  for (double& parameter : mean) parameter /= static_cast<double>(models.size());
  return here.put(std::span<const double>(mean));
}
GODWIT_EXPORT(average);

}  // namespace federated
