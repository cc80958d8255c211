// The one symbol the plug-in exports.
#include "code/jit/engine.hpp"
#include "code/jit/plugin_abi.hpp"

extern "C" __attribute__((visibility("default"))) const godwit::code::jit::Plugin godwit_jit_plugin;
const godwit::code::jit::Plugin godwit_jit_plugin = {
    .abi = godwit::code::jit::kPluginAbi,
    .size = sizeof(godwit::code::jit::Plugin),
    .create = &godwit::code::jit::Engine::create,
};
