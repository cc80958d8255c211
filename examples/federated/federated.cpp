// Federated learning, with its data passed by value and by reference, side by side.
//
//   federated training.gdw [--workers 3] [--parameters 1000000] [--rounds 20] [--tcp]
//
// Each round a model goes to all workers, each improves it on data of its own, and the mean of what
// they made is the next model. By value everything passes through this program, twice. By
// reference this program sees handles of 64 bytes; the models go from node to node, or stay where
// they are. Both end with the same model, bit by bit, and that is checked.
#include <godwit/godwit.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Model = std::vector<double>;
using ModelRef = godwit::Ref<double[]>;

struct Settings {
  std::string bundle;
  std::size_t workers = 3;
  std::size_t parameters = 1'000'000;
  std::size_t rounds = 20;
  bool tcp = false;
};

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "federated: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T need(godwit::Result<T> result) {
  if (!result) stop(result.error().message);
  return *std::move(result);
}

void need(const godwit::Status& status) {
  if (!status) stop(status.error().message);
}

template <class T>
T need(godwit::Outcome<T> outcome) {
  if (!outcome) stop(godwit::to_string(outcome.error()));
  return *std::move(outcome);
}

// How long each round took, and the model at the end.
struct Run {
  std::vector<double> round_ms;
  Model model;

  [[nodiscard]] double median_ms() const {
    std::vector<double> sorted = round_ms;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

template <class Round>
void timed(Run& run, const Round& round) {
  const auto begin = Clock::now();
  round();
  run.round_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
}

class Training {
 public:
  Training(godwit::Fleet& fleet, const godwit::Bundle& code, const Settings& settings)
      : fleet_(fleet),
        settings_(settings),
        train_(need(code.function<Model(std::span<const double>, std::uint64_t)>("train"))),
        train_here_(
            need(code.function<ModelRef(std::span<const double>, std::uint64_t)>("train_here"))),
        average_(
            need(code.function<ModelRef(std::vector<godwit::HandleOf<double[]>>)>("average"))) {}

  Run by_value() {
    Run run;
    run.model.resize(settings_.parameters);
    for (std::size_t round = 0; round < settings_.rounds; ++round) {
      timed(run, [&] {
        std::vector<godwit::Future<Model>> calls;
        for (std::size_t worker = 0; worker < settings_.workers; ++worker) {
          calls.push_back(train_.on(node_of(worker))(run.model, worker));
        }
        Model mean(settings_.parameters);
        for (auto& call : calls) {
          const Model one = need(call.get());
          for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += one[i];
        }
        for (double& parameter : mean) parameter /= static_cast<double>(settings_.workers);
        run.model = std::move(mean);
      });
    }
    return run;
  }

  Run by_reference() {
    Run run;
    // The first node has no worker's data: it joins what the others make.
    ModelRef model = need(fleet_.node(0).put(Model(settings_.parameters)));
    for (std::size_t round = 0; round < settings_.rounds; ++round) {
      timed(run, [&] {
        std::vector<godwit::Future<ModelRef>> calls;
        for (std::size_t worker = 0; worker < settings_.workers; ++worker) {
          calls.push_back(train_here_.on(node_of(worker))(model, worker));
        }
        std::vector<ModelRef> made;
        std::vector<godwit::HandleOf<double[]>> handles;
        for (auto& call : calls) {
          made.push_back(need(call.get()));
          handles.push_back(made.back());
        }
        ModelRef next = need(average_.on(fleet_.node(0))(handles).get());
        for (const ModelRef& one : made) need(one.evict());
        need(model.evict());
        model = std::move(next);
      });
    }
    run.model.assign((*model).begin(), (*model).end());
    need(model.evict());
    return run;
  }

 private:
  [[nodiscard]] godwit::NodeHandle node_of(std::size_t worker) const {
    return fleet_.node(1 + worker);
  }

  godwit::Fleet& fleet_;
  const Settings& settings_;
  godwit::Function<Model(std::span<const double>, std::uint64_t)> train_;
  godwit::Function<ModelRef(std::span<const double>, std::uint64_t)> train_here_;
  godwit::Function<ModelRef(std::vector<godwit::HandleOf<double[]>>)> average_;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto usage = [&] {
    stop("usage: " + std::string(argv[0]) +
         " training.gdw [--workers N] [--parameters N] [--rounds N] [--tcp]");
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const auto number = [&]() -> std::size_t {
      char* end = nullptr;
      const char* text = i + 1 < arguments.size() ? arguments[++i].c_str() : "";
      const unsigned long long value = std::strtoull(text, &end, 10);
      if (end == text || *end != '\0' || value == 0) stop(argument + " takes a number above 0");
      return value;
    };
    if (argument == "--workers") {
      settings.workers = number();
    } else if (argument == "--parameters") {
      settings.parameters = number();
    } else if (argument == "--rounds") {
      settings.rounds = number();
    } else if (argument == "--tcp") {
      settings.tcp = true;
    } else if (argument.starts_with("--") || !settings.bundle.empty()) {
      usage();
    } else {
      settings.bundle = argument;
    }
  }
  if (settings.bundle.empty()) usage();
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const godwit::Bundle code = need(godwit::Bundle::open(settings.bundle));
  godwit::LocalOptions options;
  options.transport = settings.tcp ? godwit::LocalTransport::tcp : godwit::LocalTransport::shm;
  godwit::Fleet fleet = need(godwit::Fleet::local(settings.workers + 1, options));

  Training training(fleet, code, settings);
  const Run value = training.by_value();
  const Run reference = training.by_reference();
  const double model_mb = static_cast<double>(settings.parameters * sizeof(double)) / 1e6;
  const double through_mb = 2 * model_mb * static_cast<double>(settings.workers);
  std::printf("%zu workers over %s, a model of %.1f MB, %zu rounds\n", settings.workers,
              settings.tcp ? "tcp" : "shared memory", model_mb, settings.rounds);
  std::printf("  by value      %8.1f ms a round, %.1f MB of it through this program\n",
              value.median_ms(), through_mb);
  std::printf("  by reference  %8.1f ms a round, %zu bytes through this program\n",
              reference.median_ms(), 64 * (3 * settings.workers + 1));
  std::printf("  %.1fx\n", value.median_ms() / reference.median_ms());
  if (value.model != reference.model) stop("the two models differ");
  std::printf("both ended with the same model, whose first parameter is %.6f\n", value.model[0]);
  return 0;
}
